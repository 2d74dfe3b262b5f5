"""How much an entry's gradient is correlated with its next ones, and what a threshold sends for it.

Usage: python3 results/analysis/correlation.py [--json] [--from STEP] [--entries N] GRADIENTS...

GRADIENTS are recordings of runs (sparsetrain --record-gradients) or .npy files [steps][workers][...]. Of the gradients
of each worker and of their mean over the workers, without means taken off, sums over entries and steps:

* lag: sum g(t) g(t + 1) / sum g(t)^2, the correlation of an entry's gradient with its next one
* ratio W: sum (g(t) + ... + g(t + W - 1))^2 / sum g(t)^2, over steps in blocks of W. It is 1 without correlation. A walk
  that is sent after about W steps sends `ratio` times what the law says, V = mean g^2 / lambda^2.
* sent, law, finite: of hard-threshold with `error-feedback: gradient`, the share of entries that were sent, V, and the
  mean over entries of V_j / (1 + 0.583 sqrt V_j)^2, where V_j = mean g_j^2 / lambda^2 (law.py)

Recordings of one method and one d are its seeds. Printed are their means with Student's 95 % intervals. The steps
before STEP do not count. `lag` and `ratio` are of about N entries, evenly spaced in the gradient; by default 7,000.
--json has layers, too, and their `variance`, the mean g^2 of their entries over that of all. Python's standard library
is enough."""
# SPDX-License-Identifier: MIT

import argparse
import math
import statistics
from operator import add, mul

from basics import half_interval, put_json, put_lines, refuse
from law import OVERSHOOT
from recorded import Recording

MOST = 6  # blocks of 2^MOST steps


class Sums:
    """Of a series of vectors: the squares of entries, products with the next vector, and squares of sums of blocks."""

    def __init__(self, size):
        self.square, self.next, self.old = [0.0] * size, [0.0] * size, None
        self.waits, self.blocks, self.steps = [None] * MOST, [[0.0] * size for _ in range(MOST)], 0

    def take(self, x):
        self.steps += 1
        self.square = list(map(add, self.square, map(mul, x, x)))
        if self.old is not None:
            self.next = list(map(add, self.next, map(mul, x, self.old)))
        self.old = x
        for level in range(MOST):  # two sums of 2^level steps are one of the next level
            if self.waits[level] is None:
                self.waits[level] = x
                return
            x, self.waits[level] = list(map(add, self.waits[level], x)), None
            self.blocks[level] = list(map(add, self.blocks[level], map(mul, x, x)))


def pooled(series, part=slice(None)):
    """{"lag", "ratio"} of several series, over a part of their entries."""
    steps = series[0].steps
    of = lambda name: math.fsum(math.fsum(getattr(s, name)[part]) for s in series)
    square = of("square")
    if not square:
        return {"lag": math.nan, "ratio": {}}
    whole = lambda level: steps >> (level + 1) << (level + 1)  # the steps in whole blocks
    return {"lag": of("next") / square * steps / (steps - 1),
            "ratio": {str(2 << level): math.fsum(math.fsum(s.blocks[level][part]) for s in series) / square
                      * steps / whole(level) for level in range(MOST) if whole(level)}}


def measure(path, start, entries):
    recording = Recording(path)
    stride = max(1, recording.d // entries)
    while math.gcd(stride, 2 * 3 * 5 * 7) > 1:  # else it would meet the same places of each filter of a network
        stride -= 1
    count = -(-recording.d // stride)
    own, mean = [Sums(count) for _ in range(recording.workers)], Sums(count)
    square, sent, together = [0.0] * recording.d, [], []
    for i, (number, row) in enumerate(recording.rows()):
        step, worker = divmod(i, recording.workers)
        if step < start:
            continue
        x = list(row[::stride])
        own[worker].take(x)
        square = list(map(add, square, map(mul, row, row)))
        sent.append(number)
        together.append(x)
        if worker == recording.workers - 1:
            mean.take([math.fsum(v) / recording.workers for v in zip(*together)])
            together = []
    if mean.steps < 2:
        refuse(f"{path}: it has {recording.steps} steps, and two or more must count")
    variance = [v / (recording.workers * mean.steps) for v in square]
    middle = statistics.fmean(variance)
    out = {"method": recording.method, "identity": recording.identity, "steps": mean.steps,
           "workers": recording.workers, "d": recording.d, "entries": count, "worker": pooled(own),
           "mean": pooled([mean]), "sent": math.nan, "law": math.nan, "finite": math.nan, "layers": []}
    bound = recording.constants.get("error_bound")  # d lambda^2
    if bound:
        share = [v * recording.d / bound for v in variance]
        out |= {"sent": statistics.fmean(sent) / recording.d, "law": statistics.fmean(share),
                "finite": statistics.fmean(v / (1 + OVERSHOOT * math.sqrt(v)) ** 2 for v in share)}
    begin = 0
    for name, size in zip(recording.names, recording.layers):
        end, part = begin + size, slice(-(-begin // stride), -(-(begin + size) // stride))
        if part.start < part.stop:
            out["layers"].append({"name": name, "entries": size, "worker_lag": pooled(own, part)["lag"],
                                  "mean_lag": pooled([mean], part)["lag"],
                                  "variance": statistics.fmean(variance[begin:end]) / middle if middle else math.nan})
        begin = end
    return out


def numbers_of(found):
    """The numbers of a recording by the names of its columns."""
    out = {f"{whose} lag": found[whose]["lag"] for whose in ("worker", "mean")}
    for whose in ("worker", "mean"):
        if found[whose]["ratio"]:
            longest = max(found[whose]["ratio"], key=int)
            out[f"{whose} ratio"] = found[whose]["ratio"][longest]
            out["over"] = int(longest)
    return out | {name: found[name] for name in ("sent", "law", "finite")}


def summary(of):
    """The mean over recordings, and half of its interval, of each number."""
    rows = [numbers_of(found) for found in of]
    return {name: {"mean": statistics.fmean(r[name] for r in rows), "half": half_interval([r[name] for r in rows])}
            for name in rows[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="all numbers, of each recording and layer")
    parser.add_argument("--from", dest="start", type=int, default=0, metavar="STEP", help="the first step that counts")
    parser.add_argument("--entries", type=int, default=7000, metavar="N", help="about so many entries are read")
    parser.add_argument("gradients", nargs="+", metavar="GRADIENTS")
    opt = parser.parse_args()
    found = [measure(path, opt.start, opt.entries) for path in opt.gradients]
    seeds = {}
    for f in found:
        seeds.setdefault(f"{f['method'].split(' stretch=')[0]}, d = {f['d']}".removeprefix(", "), []).append(f)
    results = [{"label": label, "recordings": of, "numbers": summary(of)} for label, of in seeds.items()]
    if opt.json:
        put_json({"schema": "correlation/1", "from": opt.start, "results": results})
        return
    shown = lambda n: "" if math.isnan(n["mean"]) else f"{n['mean']:.4g}" + (
        f" ± {n['half']:.2g}" if n["half"] > 0 else "")
    put_lines(["method", *results[0]["numbers"]], [[r["label"], *map(shown, r["numbers"].values())] for r in results],
              range(1, 99))


if __name__ == "__main__":
    main()
