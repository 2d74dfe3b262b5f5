"""The least error that error feedback can leave of recorded gradients, beside what methods leave that send as much.

Usage: python3 results/analysis/least_error.py [--jobs N] [--json] GRADIENTS SERIES.ndjson...

GRADIENTS is an .npy file of shape [steps][workers][...], or what sparsetrain --record-gradients wrote. Each SERIES is
the run of a method on them (task recorded): sparsebench RECIPE --folder F leaves them in F. The runs must record, at
every step, average-density, total-error, error-relative, error-mean-norm and learning-rate.

Which entries are sent at which steps is free, and may be chosen with all gradients known. An entry that is sent leaves
no residual. With a price for every entry sent, the best steps of one entry come from dynamic programming over the step
of its last message, in T^2 / 2 operations. The sum over all entries less price * K is a lower bound for every price.
Of the mean over workers the best choice is not known: the bound lets a message add any number to the mean residual
(optimal partitioning; Jackson et al., IEEE Signal Processing Letters, 2005). What is attained is by a rule that sees
the residuals of all workers and no later gradient: while one worker's message of an entry lowers the squared mean by a
threshold or more, the message that lowers it most is sent.

error_relative and error_mean_relative of a method are sum_t mean_i |e_i|^2 and sum_t |e mean|^2 over sum |g|^2, and
`sent` its K. Methods for which K is not what they send, or whose residual is no sum of gradients, are left_out. `least`
is of error_relative, `least_mean` of error_mean_relative. `bound` is below the error of every choice of K messages,
`attained` the error of the best choice at the lowest price tried that sends at most K, attained_sent of them. Prices
are in units of sum_i e_i^2 for `least` and of the squared mean for `least_mean`.

Ten thousand entries over 600 steps take an hour of one core, and N cores share it. Python's standard library is
enough."""
# SPDX-License-Identifier: MIT

import argparse
import array
import itertools
import json
import math
import multiprocessing
import os
import sys

from basics import put_json, put_lines, refuse
from recorded import Recording

# Prices: of the first round, STEP apart, and how many rounds there are. A choice that sends NEAR K or more is near it.
ROUNDS, GRID, STEP, NEAR, ALIKE = 6, 5, 8, 0.98, 0.01
BLOCK = 64  # entries that are computed together
SERIES = ("average_density", "total_error", "error_relative", "error_mean_norm", "learning_rate")
SUMS = ("update", "gradient", "lr-correction")  # forms of feedback whose residual is a sum of gradients
BY_RATE = ("update", "lr-correction")  # of which it is a sum of updates
SELECTORS = ("none", "topk", "hard-threshold", "randomk", "accordion", "dgc", "block-threshold", "gaussiank", "mstopk",
             "redsync", "sidco-e", "sidco-gp", "sidco-p", "topk-block", "topk-reuse", "topk-then-threshold",
             "threshold-then-topk")  # compressors that send entries as they are


# ---- gradients ----

class Gradients:
    """x[t][i][j] of d entries of n workers, as floats behind each other."""

    def __init__(self, path, steps):
        recording = Recording(path)
        if steps > recording.steps:
            refuse(f"{path}: it has {recording.steps} steps, and a run {steps}")
        self.steps, self.workers, self.d = steps, recording.workers, recording.d
        self.x = array.array("f")
        for _, row in itertools.islice(recording.rows(), steps * self.workers):
            self.x.extend(row if row.typecode == "f" else array.array("f", row))
        if not all(math.isfinite(v) for v in self.x):
            refuse(f"{path}: a gradient is not finite")

    def own(self, entry):
        """An entry of a worker over the steps."""
        return self.x[entry::self.workers * self.d]

    def workers_of(self, j):
        """Entry j of all workers: [workers][steps]."""
        return [self.own(i * self.d + j) for i in range(self.workers)]


# ---- one entry at one price: how many messages, and the error ----

def finish(cost, count, price):
    best = min(cost)
    sent = count[cost.index(best)]
    return sent, best - (price * sent if sent else 0)


def send_own(x, price):
    """The state is the step of the last message, the first one none; cost is the least of all that came before."""
    total, sums, cost, count = 0.0, [0.0], [0.0], [0]
    for v in x:
        total += v
        best = min(cost)
        count.append(count[cost.index(best)] + 1)
        cost = [c + (total - s) * (total - s) for c, s in zip(cost, sums)]
        cost.append(best + price)
        sums.append(total)
    return finish(cost, count, price)


def send_jumps(workers, price):
    """The same of the mean of workers, where a message may set the mean residual to anything: the sum of the mean
    gradients is approximated by one level from message to message, and by 0 before the first."""
    n, total, cost, level, count = len(workers), 0.0, [0.0], [0.0], [0]
    for t, of in enumerate(zip(*workers), 1):
        total += sum(of) / n
        best = min(cost)
        count.append(count[cost.index(best)] + 1)
        first = cost[0] + total * total
        off = [total - l for l in level]
        share = [1 / (t - a + 1) for a in range(t)]
        cost = [c + o * o * (t - a) * s for a, (c, o, s) in enumerate(zip(cost, off, share))]
        level = [l + o * s for l, o, s in zip(level, off, share)]
        cost[0] = first
        cost.append(best + price)
        level.append(total)
    return finish(cost, count, price)


def send_by_rule(workers, price):
    """While one worker's message makes the square of the mean residual smaller by the price, the one that makes it
    smallest is sent."""
    n, sent, error = len(workers), 0, 0.0
    e, least = [0.0] * n, price * n * n
    for of in zip(*workers):
        e = [a + g for a, g in zip(e, of)]
        total = sum(e)
        for _ in range(n):
            gain = [a * (2 * total - a) for a in e]
            most = max(gain)
            if not most > 0 or not most >= least:
                break
            best = gain.index(most)
            total -= e[best]
            e[best] = 0.0
            sent += 1
        error += (total / n) ** 2
    return sent, error


def try_block(task):
    which, price, first, last = task
    g = GRADIENTS
    one = {"own": lambda k: send_own(g.own(k), price), "jumps": lambda k: send_jumps(g.workers_of(k), price),
           "rule": lambda k: send_by_rule(g.workers_of(k), price)}[which]
    found = [one(k) for k in range(first, last)]
    return sum(sent for sent, _ in found), math.fsum(error for _, error in found)


# ---- prices ----

class Curve:
    """Of each price that was tried what it sends, and the error."""

    def __init__(self, which, entries):
        self.which, self.entries = which, entries
        self.price, self.point = [], []  # the first `len(point)` prices were tried

    def add(self, price):
        done = len(self.point)
        if not any(p == price or (i >= done and abs(p / price - 1) < ALIKE) for i, p in enumerate(self.price)):
            self.price.append(price)

    def run(self, pool_map):
        new = self.price[len(self.point):]
        blocks = [(self.which, price, k, min(k + BLOCK, self.entries)) for price in new
                  for k in range(0, self.entries, BLOCK)]
        found = pool_map(try_block, blocks)
        each = len(blocks) // len(new) if new else 0
        for i, price in enumerate(new):
            of = found[i * each:(i + 1) * each]
            self.point.append((price, sum(s for s, _ in of), math.fsum(e for _, e in of)))

    def below(self, k):
        """The point that sends most of those that send k or less; the first sends nothing."""
        best = self.point[0]
        for p in self.point[1:]:
            if best[1] <= p[1] <= k:
                best = p
        return best

    def refine(self, k):
        """Adds a price between the two points around k, unless one of them is near."""
        low = self.below(k)
        more = [p for p in self.point if p[1] > k]
        if low[1] >= NEAR * k:
            return
        if not more:
            self.add(min(p[0] for p in self.point) / STEP)
            return
        high = min(more, key=lambda p: p[1])
        share = math.log(high[1] / (k * (1 + NEAR) / 2)) / math.log(high[1] / low[1]) if low[1] > 0 else None
        self.add(high[0] * STEP if share is None else high[0] * (low[0] / high[0]) ** share)


def find(bound, attained, k, scale):
    price, sent, error = attained.below(k)
    best, at = 0.0, 0.0
    for q in bound.point:
        here = (q[2] + (0 if q[1] == k else q[0] * (q[1] - k))) / scale
        if here > best:
            best, at = here, q[0]
    return {"bound": best, "bound_price": at, "attained": error / scale, "attained_sent": sent,
            "attained_price": price}


def least_errors(g, budgets, pool_map):
    """Of each number of entries the least of both errors, and the sum of the mean squared norms of the gradients."""
    square = math.fsum(v * v for v in g.x) / g.workers
    entries = g.steps * g.workers * g.d
    curves = [Curve("own", g.workers * g.d), Curve("jumps", g.d), Curve("rule", g.d)]
    for turn in range(ROUNDS):
        for curve in curves:
            if turn == 0:
                curve.add(1e300)  # nothing is sent
            elif turn == 1:  # around where a random walk with the gradients' variance would send the largest budget
                v = square * g.workers / entries if square > 0 else 1
                middle = v / 6 * (entries / max([1, *budgets])) ** 2
                for i in range(GRID):
                    curve.add(middle / (1 if curve.which == "own" else g.workers**2) * STEP ** (i - GRID // 2))
            else:
                for k in budgets:
                    curve.refine(k)
            curve.run(pool_map)
        print(f"\r{turn + 1} of {ROUNDS} rounds of prices", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    own, jumps, rule = curves
    return [(find(own, own, k, g.workers), find(jumps, rule, k, 1)) for k in budgets], square


# ---- methods ----

def read_series(path):
    try:
        with open(path, encoding="utf-8") as file:
            records = [json.loads(line) for line in file]
    except (OSError, ValueError) as problem:
        refuse(f"{path}: {problem}")
    head, end = records[0], records[-1]
    if head.get("schema") != "sparsetrain/1" or end.get("record") != "end" or end.get("status") != "ok":
        refuse(f"{path}: no finished run of sparsetrain")
    resolved = head["recipe"]["resolved"]
    if resolved["task"]["kind"] != "recorded":
        refuse(f"{path}: it is no run on recorded gradients (task recorded)")
    points = [r for r in records if r.get("record") == "step" and r["step"] > 0]
    missing = [name for name in SERIES if name not in head["columns"]]
    if missing or len(points) != end["steps"]:
        refuse(f"{path}: it must record at every step (every: 1) {', '.join(missing or SERIES)}")
    return head, resolved, points


class Method:
    """What one run sent and left, and the reason why the least is not that of its method."""

    def __init__(self, path):
        head, resolved, points = read_series(path)
        last, form = points[-1], resolved["error_feedback"]
        rates = {p["learning_rate"] for p in points}
        self.label, self.seed, self.steps = head["method"], head["seed"], len(points)
        self.workers, self.d = resolved["workers"], int(head["constants"]["d"])
        self.own = last["error_relative"]
        self.mean = sum(p["error_mean_norm"] for p in points) * (self.own / last["total_error"] if last["total_error"]
                                                                 else 0)
        self.sent = round(last["average_density"] * self.d * self.steps * self.workers)
        whole = resolved["method"]["compressor"] in SELECTORS and resolved["message"]["values"] == "fp32"
        self.reason = (
            "it sends other numbers than entries" if not whole else
            "its residual is no sum of gradients" if form["form"] not in SUMS or form.get("decay", 1) != 1 else
            "its learning rate changes" if form["form"] in BY_RATE and len(rates) > 1 else
            "not all of its workers take part" if resolved.get("participation", 1) < 1 else None)


def read_methods(paths):
    methods = [Method(path) for path in paths]
    lengths = {m.steps for m in methods}
    if len(lengths) > 1:
        refuse(f"runs have {' and '.join(map(str, sorted(lengths)))} steps: the least is for one length of all methods")
    if len({(m.workers, m.d) for m in methods}) > 1:
        refuse("the runs have different workers or numbers of entries")
    return methods


# ---- output ----

def evidence(path, g, methods, square, least):
    entries = g.steps * g.workers * g.d
    scaled = lambda e: {k: v / square if k in ("bound", "attained") else v for k, v in e.items()}
    rows = []
    for m in methods:
        own, mean = least[m] if m in least else (None, None)
        rows.append({"label": m.label, "left_out": m.reason, "sent": m.sent, "density": m.sent / entries,
                     "error_relative": m.own, "error_mean_relative": m.mean, "least": scaled(own) if own else None,
                     "least_mean": scaled(mean) if mean else None})
    return {"of": "feedback", "files": path, "steps": g.steps, "workers": g.workers, "d": g.d,
            "gradient_square": square, "methods": rows}


def put_table(found):
    print(f"# error feedback on {found['files']}: {found['steps']} steps of {found['workers']} workers, {found['d']} "
          f"parameters")
    print("# error: sum |e|^2 / sum |g|^2; least: of all choices of as many entries; of the mean: of e over workers")
    lines = []
    for m in found["methods"]:
        if m["left_out"]:
            print(f"# {m['label']}: no least, {m['left_out']}")
        own, mean = m["least"], m["least_mean"]
        known = lambda text, of: text() if of else "-"
        ratio = lambda a, b: f"{a / b:.4f}" if b else "-"
        lines.append([m["label"], f"{100 * m['density']:.4g}", f"{m['error_relative']:.5g}",
                      known(lambda: f"{own['bound']:.5g}", own),
                      known(lambda: ratio(m["error_relative"], own["bound"]), own),
                      f"{m['error_mean_relative']:.5g}", known(lambda: f"{mean['attained']:.5g}", mean),
                      known(lambda: f"{mean['bound']:.5g}", mean),
                      known(lambda: ratio(m["error_mean_relative"], mean["attained"]), mean)])
    put_lines(["method", "sent, %", "error", "least", "error / least", "of the mean", "found", "bound", "mean / found"],
              lines, range(1, 9))


def main():
    global GRADIENTS
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("gradients", metavar="GRADIENTS")
    parser.add_argument("series", nargs="+", metavar="SERIES.ndjson")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="processes; default: the cores")
    parser.add_argument("--json", action="store_true", help="write the evidence as JSON")
    opt = parser.parse_args()
    methods = read_methods(opt.series)
    GRADIENTS = g = Gradients(opt.gradients, methods[0].steps)
    if (g.workers, g.d) != (methods[0].workers, methods[0].d):
        refuse(f"{opt.gradients}: {g.workers} workers of {g.d} entries, where the runs have {methods[0].workers} of "
               f"{methods[0].d}")
    compared = [m for m in methods if not m.reason]
    with multiprocessing.get_context("fork").Pool(max(1, opt.jobs)) as pool:
        found, square = least_errors(g, [m.sent for m in compared], pool.map)
    out = evidence(opt.gradients, g, methods, square, dict(zip(compared, found)))
    if opt.json:
        put_json(out)
    else:
        put_table(out)


if __name__ == "__main__":
    main()
