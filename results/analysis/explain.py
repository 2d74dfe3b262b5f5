"""Which recorded error orders the methods of published results by their quality.

Usage: python3 results/analysis/explain.py [--metric NAME] [--later LABEL]... [--json] RESULT.json...

Results are joined if their task, workers, batch, length, optimizer, data and metric are the same. The number of a run
is the last record of sums and running means, and else the mean over the records, which needs a plot of points over the
error with x-at: {mean: true}. Methods without any error are left out, and so are seeds without a quality. Printed are

* the correlation: Spearman's, of error and badness of quality, both means over the seeds; of what is sent, which is no
  error, less is taken as worse; its interval holds 95 % of 10,000 draws of seeds and methods with replacement, the same
  draws for all errors, and fewer than four methods cannot tell
* against the first: by how much the correlation is below the largest, in the same draws
* pairs of methods of a seed whose qualities differ; one is right if the better method has less of the error
* p: the share of 5,000 random orders in which the correlation is as large; p largest: in which the largest of all
  errors' is. Read the second of an error that was chosen because it is the largest
* gradients alone: the correlation with the mean squared norm of a run's gradients after the first eighth of the steps
* over the methods that --later names, which came after the error was derived, the correlation alone

--json writes the evidence, which sparseplot-export draws. Python's standard library is enough."""
# SPDX-License-Identifier: MIT

import argparse
import collections
import math
import random

from basics import (HIGHER, Draws, get, interval, mean, numbers, put_comment, put_json, put_left_out, put_lines, ranks,
                    read_result, refuse, spread, words)

DRAWS, SEED = 10000, 1  # of the bootstrap
SHUFFLES = 5000  # of the methods, for the share of random orders
FEWEST = 4  # methods that can tell an order from chance
MOST_WRONG = 6  # pairs of methods that a line names
# The errors, and which number of a run stands for each: a sum or a running mean over all steps is the last record, and
# what belongs to a step is the mean over the records.
LAST = ("total_error", "error_relative", "error_by_layer", "step_error", "average_compression_error", "average_density")
ERRORS = ("total_error", "error_norm", "error_relative", "error_mean_norm", "error_common", "error_lag",
          "error_curvature", "error_by_layer", "error_weighed", "step_error", "drift_norm", "drift_lag", "error_max",
          "compression_error", "average_compression_error", "average_density")
SENT = "average_density"  # no error: what is sent, to compare with; less is taken as worse
SETTING = ("recipe.resolved.task", "recipe.resolved.workers", "recipe.resolved.participation", "recipe.resolved.batch",
           "recipe.resolved.total_batch", "recipe.resolved.epochs", "recipe.resolved.steps",
           "recipe.resolved.optimizer", "dataset.sha256")
NONE = "no error"
UNPLOTTED = ("the mean over records is not in the result: a plot of kind points over it, with x-at: {mean: true} and "
             "the metric as y, in the recipe puts it there")


def centred(x):
    middle = (len(x) + 1) / 2
    return [r - middle for r in ranks(x)]


def correlate(a, b):
    """Of centred ranks."""
    xx, yy = sum(v * v for v in a), sum(v * v for v in b)
    return sum(v * w for v, w in zip(a, b)) / math.sqrt(xx * yy) if xx > 0 and yy > 0 else math.nan


def spearman(x, y):
    return correlate(centred(x), centred(y)) if len(x) else math.nan


# ---- results as one table of methods, seeds, qualities and errors ----

def plot_of(document, metric, column=None):
    """A plot of points of the metric over the mean of a column, or over anything."""
    for plot in document.get("plots", []):
        if plot.get("kind") == "points" and plot.get("y") == metric and (
                column is None or (plot.get("x") == column and get(plot, "x_at.mean"))):
            return plot
    return None


def values_of(row, plot, axis, column):
    """The numbers of a row's seeds: those of a plot's points, or without a plot the last ones of a column."""
    if plot:
        of = (p for p in plot["points"] or [] if p["label"] == row["label"])
        return next((numbers(get(p, axis).get("values")) for p in of), [])
    return numbers((row["final"].get(column) or {}).get("values")) if column else []


def read(paths, metric):
    sources = []
    for path in paths:
        document = read_result(path)
        metric = metric or get(document, "summary.metric")
        if not metric:
            refuse(f"{path}: its claims and plots name no metric of quality: give --metric")
        plot = plot_of(document, metric)
        at = plot.get("y_at") if plot else None
        at = None if not at or at.get("final") else at
        if not any(metric in row["final"] for row in document["results"]):
            refuse(f"{path}: it has no {metric}")
        if sources and at != sources[0][2]:
            refuse(f"{path}: its plots of points do not take {metric} as those of {paths[0]} do (y-at)")
        for part in SETTING:
            if sources and get(document, part) != get(sources[0][1], part):
                refuse(f"{paths[0]} and {path} are results of different settings: {part} differs")
        sources.append((path, document, at))
    return sources, metric


class Table:
    """Methods in the order of the results; column [method][seed], NaN where there is no number."""

    def __init__(self, sources, metric):
        self.metric, self.left_out = metric, []
        first = sources[0][1]
        better = get(first, "summary.better") if get(first, "summary.metric") == metric else None
        self.higher = better == "higher" if better else metric in HIGHER
        self.seeds = list(dict.fromkeys(s for _, d, _ in sources for row in d["results"] for s in row["seeds"]))
        self.names, self.rows = [], []
        self.column = {c: [] for c in (metric, *ERRORS)}
        for _, document, _ in sources:
            for row in document["results"]:
                self.add(document, row)
        for c in ERRORS:
            if not any(not math.isnan(v) for values in self.column[c] for v in values):
                if c not in LAST and any(c in row["final"] for row in self.rows):
                    self.leave_out(c, UNPLOTTED)
                del self.column[c]
        self.errors = [c for c in self.column if c != metric]
        if len(self.names) < 2 or not self.errors:
            refuse(f"{sources[0][0]}: no two methods with an error to compare")

    def leave_out(self, name, reason):
        if name not in [item["name"] for item in self.left_out]:
            self.left_out.append({"name": name, "reason": reason})

    def add(self, document, row):
        found = {}
        for c in self.column:
            quality = c == self.metric
            plot = plot_of(document, self.metric, None if quality else c) if quality or c not in LAST else None
            values = values_of(row, plot, "y" if quality else "x", c if quality or c in LAST else None)
            values = values[:len(row["seeds"])]
            if not quality and not any(math.isfinite(v) and v != 0 for v in values):
                values = []  # an error that is 0 at every seed is none
            by_seed = dict(zip(row["seeds"], values))
            found[c] = [by_seed.get(s, math.nan) for s in self.seeds]
            if not quality:
                found[c] = [v if math.isfinite(v) else math.nan for v in found[c]]
        if all(math.isnan(v) for c in ERRORS if c != SENT for v in found[c]):
            self.leave_out(row["label"], NONE)
            return
        same = lambda a, b: all(x == y or (math.isnan(x) and math.isnan(y)) for x, y in zip(a, b))
        known = [m for m, other in enumerate(self.rows) if other["label"] == row["label"]]
        m = next((m for m in known if len(self.rows[m]["seeds"]) == len(row["seeds"])
                  and same(self.column[self.metric][m], found[self.metric])), None)
        if m is None:
            m = len(self.names)
            self.names.append(f"{row['label']} ({get(document, 'recipe.name')})" if known else row["label"])
            self.rows.append(row)
            for c in self.column:
                self.column[c].append([math.nan] * len(self.seeds))
        for c, values in found.items():
            self.column[c][m] = [v if math.isnan(old) else old for old, v in zip(self.column[c][m], values)]

    def signed(self, column):
        """[method][seed] so that more is worse."""
        sign = (-1 if self.higher else 1) if column == self.metric else -1 if column == SENT else 1
        return [[sign * v for v in values] for values in self.column[column]]


# ---- what is found ----

def pair(a, b, both):
    """Centred ranks of two lists over the places where all lists of `both` have a number."""
    at = [i for i in range(len(a)) if not any(math.isnan(x[i]) for x in both)]
    return spearman([a[i] for i in at], [b[i] for i in at])


def over(means, bad, errors, first):
    """Of every error the correlation, and how far that of the first error is above it where both have values."""
    own = {c: pair(means[c], bad, (means[c], bad)) for c in errors}
    if first is None:
        return own, {}
    behind = {}
    for c in errors:
        if any(math.isnan(x) != math.isnan(y) for x, y in zip(means[c], means[first])):
            both = (means[c], means[first], bad)
            behind[c] = pair(means[first], bad, both) - pair(means[c], bad, both)
        else:
            behind[c] = own[first] - own[c]
    return own, behind


def judge_pairs(table, error):
    """How many pairs of methods of a seed have different qualities, and those of them that the error gets wrong."""
    bad, value = table.signed(table.metric), table.signed(error)
    pairs, wrong = 0, []
    for a in range(len(bad)):
        for b in range(a + 1, len(bad)):
            for s, seed in enumerate(table.seeds):
                gain = bad[b][s] - bad[a][s]
                better, worse = (a, b) if gain > 0 else (b, a)
                gap = value[worse][s] - value[better][s]
                if math.isnan(gain) or math.isnan(gap) or gain == 0:
                    continue
                pairs += 1
                if not gap > 0:
                    known = lambda m: [v for v in bad[m] if not math.isnan(v)]
                    wrong.append({"seed": seed, "better": table.names[better], "worse": table.names[worse],
                                  "overlap": min(known(worse)) <= max(known(better))})
    return pairs, wrong


def gradients(table):
    """Of each method the mean of the recorded squared norms of gradients, over seeds, after the first eighth of the
    steps; None where a method has none."""
    out = []
    for row in table.rows:
        recorded = get(row, "series.gradient_norm.mean") or []
        steps = get(row, "series.step") or []
        late = [v for step, v in zip(steps, recorded) if v is not None and step > max(steps) / 8]
        if not late:
            return None
        out.append(sum(late) / len(late))
    return out


def by_chance(means, bad, errors):
    """Of each error the share of random orders of the methods whose correlation is as large, and that of orders in
    which the largest of all errors is. Both are None where a method lacks a number."""
    if any(math.isnan(v) for c in errors for v in means[c]) or any(math.isnan(v) for v in bad):
        return {c: (None, None) for c in errors}
    of = {c: centred(means[c]) for c in errors}
    quality, rng = centred(bad), random.Random(SEED)
    own = {c: correlate(of[c], quality) - 1e-12 for c in errors}
    alone, largest = collections.Counter(), collections.Counter()
    for _ in range(SHUFFLES):
        rng.shuffle(quality)
        drawn = {c: correlate(of[c], quality) for c in errors}
        most = max(drawn.values())
        for c in errors:
            alone[c] += drawn[c] >= own[c]
            largest[c] += most >= own[c]
    # Their own order is one of the random ones.
    return {c: ((alone[c] + 1) / (SHUFFLES + 1), (largest[c] + 1) / (SHUFFLES + 1)) for c in errors}


def verdict(n, found):
    if n >= FEWEST and found["low"] > 0:
        return "orders"
    return "orders in reverse" if n >= FEWEST and found["high"] < 0 else "cannot tell"


def rank(error, first, behind):
    if error == first:
        return "first"
    if behind["value"] == behind["low"] == behind["high"] == 0:
        return "ties"
    return "behind" if behind["low"] > 0 else "ahead" if behind["high"] < 0 else "cannot tell"


def explain(table, later):
    errors, n, seeds = table.errors, len(table.names), len(table.seeds)
    signed = {c: table.signed(c) for c in (*errors, table.metric)}
    means = {c: [mean(values) for values in signed[c]] for c in signed}
    bad = means.pop(table.metric)
    point, _ = over(means, bad, errors, None)
    known = [c for c in errors if not math.isnan(point[c])]
    first = max(known, key=lambda c: point[c]) if known else None
    own, behind = {c: [] for c in errors}, {c: [] for c in errors}
    for step in range(DRAWS if first else 0):
        rng = Draws(SEED, step)
        at, methods = [rng.below(seeds) for _ in range(seeds)], [rng.below(n) for _ in range(n)]
        of = {m: {c: mean([signed[c][m][s] for s in at]) for c in signed} for m in set(methods)}
        pick = {c: [of[m][c] for m in methods] for c in signed}
        a, b = over(pick, pick[table.metric], errors, first)
        for c in errors:
            own[c].append(a[c])
            behind[c].append(b[c])
    _, ahead = over(means, bad, errors, first)
    chance = by_chance(means, bad, errors)
    some = [m for m in range(n) if table.names[m] in later]
    out = []
    for c in errors:
        pairs, wrong = judge_pairs(table, c)
        both = sum(not math.isnan(v) and not math.isnan(q) for v, q in zip(means[c], bad))
        found, gap = interval(point[c], own[c]), interval(ahead.get(c, math.nan), behind[c])
        out.append({"column": c, "number": "last record" if c in LAST else "mean over records",
                    "worse": "less" if c == SENT else "more", "methods": both, "correlation": found,
                    "verdict": verdict(both, found), "behind_first": gap, "against_first": rank(c, first, gap),
                    "pairs": pairs, "pairs_right": pairs - len(wrong), "pairs_wrong": wrong,
                    "p": chance[c][0], "p_largest": chance[c][1],
                    "later": pair([means[c][m] for m in some], [bad[m] for m in some],
                                  ([means[c][m] for m in some],)) if some else None})
    size = gradients(table)
    alone = None if size is None or any(math.isnan(v) for v in bad) else spearman(size, bad)
    return out, first, alone


# ---- output ----

def conclusion(table, errors, first, alone, later):
    if first is None:
        return ["No error differs between the methods: cannot tell."]
    e = next(e for e in errors if e["column"] == first)
    found, n = e["correlation"], e["methods"]
    out = [f"Over {n} methods and {len(table.seeds)} seed{'s' * (len(table.seeds) != 1)}, the highest rank correlation "
           f"with {words(table.metric)} is that of {words(first)}, {found['value']:.2f} ({found['low']:.2f} to "
           f"{found['high']:.2f}); it orders {e['pairs_right']} of {e['pairs']} pairs of a seed."
           + ("" if e["verdict"] != "cannot tell" else
              " So few methods may have this order by chance: cannot tell." if n < FEWEST else
              " That may be chance: cannot tell.")]
    for rank_of, text in (("ties", "Every draw gives the same order by"), ("cannot tell", "Cannot be told from it:"),
                          ("behind", "Behind it:"), ("ahead", "Ahead of it over the methods that have both:")):
        names = [words(o["column"]) for o in errors if o["against_first"] == rank_of]
        if names:
            out.append(f"{text} {', '.join(names)}.")
    if e["p_largest"] is not None:
        out.append(f"The largest of the {len(errors)} correlations is as large in a share of {e['p_largest']:.4f} of "
                   f"{SHUFFLES} random orders of the methods.")
    if later:
        out.append(f"Over the {later} methods that came after the error was derived, {words(first)} has "
                   f"{e['later']:.2f}.")
    if alone is not None:
        out.append(f"The mean squared norm of a run's gradients after the first eighth of its steps, without any "
                   f"residual, has a rank correlation of {alone:.2f} with how bad a method is.")
    return out


def wants_log(rows):
    """A log axis shows these numbers better: all are positive, and they span a factor of ten."""
    known = [v for values in rows for v in values if not math.isnan(v)]
    return bool(known) and min(known) > 0 and max(known) >= 10 * min(known)


def evidence(sources, table, errors, first, alone, later):
    document, at = sources[0][1], sources[0][2]
    y = all(wants_log([values]) for values in table.column[table.metric])
    results = [{"label": name, "method": name, "compressor": row["compressor"], "baseline": False,
                "seeds": table.seeds, "series": {},
                "final": {c: spread(table.column[c][m]) for c in table.column}}
               for m, (name, row) in enumerate(zip(table.names, table.rows))]
    plots = [{"x": e["column"], "y": table.metric,
              "log": ("x" * wants_log(table.column[e["column"]]) + "y" * y) or "none", "title": None, "kind": "points",
              "x_at": {"mean": True} if e["number"] == "mean over records" else {"final": True}, "y_at": at,
              "points": None} for e in errors]
    return {"schema": "sparsebench/1", "status": "ok", "program": None, "run": None,
            "recipe": {"name": get(document, "recipe.name"), "title": get(document, "recipe.title")},
            "dataset": document.get("dataset"), "units": document.get("units"), "results": results, "claims": [],
            "plots": plots,
            "tune": {"action": "explain", "results": [path for path, _, _ in sources], "metric": table.metric,
                     "at": at, "better": "higher" if table.higher else "lower", "draws": DRAWS, "seed": str(SEED),
                     "confidence": 0.95, "shuffles": SHUFFLES, "later": later, "gradient_alone": alone,
                     "left_out": table.left_out, "errors": errors,
                     "conclusion": conclusion(table, errors, first, alone, len(later))}}


def wrong_line(error):
    """The pairs of methods that an error gets wrong, each with how many seeds: first those whose qualities do not
    overlap, and of these the ones of most seeds."""
    count = collections.Counter((w["better"], w["worse"], w["overlap"]) for w in error["pairs_wrong"])
    named = sorted(count, key=lambda w: (w[2], -count[w]))  # stable, so equal ones stay in the order of the methods
    text = "; ".join(f"{better} before {worse} ({count[better, worse, overlap]} seed"
                     f"{'s' * (count[better, worse, overlap] != 1)}{', they overlap' * overlap})"
                     for better, worse, overlap in named[:MOST_WRONG])
    return f"{words(error['column'])} gets wrong: {text}" + (
        f"; and {len(named) - MOST_WRONG} more" if len(named) > MOST_WRONG else "")


def put_table(table, errors, found):
    print(f"# which error orders methods by {words(table.metric)}, {found['better']} is better")
    head = ["error", "number of a run", "methods", "correlation", "95 %", "verdict", "against first", "by 95 %",
            "pairs right", "p", "p largest"] + (["later"] if found["later"] else [])
    span = lambda v: "-" if math.isnan(v["low"]) else f"{v['low']:.2f} to {v['high']:.2f}"
    share = lambda p: "-" if p is None else f"{p:.4f}"
    lines = [[e["column"], e["number"], str(e["methods"]), f"{e['correlation']['value']:.2f}", span(e["correlation"]),
              e["verdict"], e["against_first"], span(e["behind_first"]), f"{e['pairs_right']} of {e['pairs']}",
              share(e["p"]), share(e["p_largest"])] + ([f"{e['later']:.2f}"] if found["later"] else [])
             for e in errors]
    put_lines(head, lines, (2, 3, 8, 9, 10, 11))
    print("#")
    for e in errors:
        if e["pairs_wrong"]:
            put_comment(wrong_line(e))
    put_left_out(table.left_out)
    print("#")
    for sentence in found["conclusion"]:
        put_comment(sentence)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("result", nargs="+", metavar="RESULT.json")
    parser.add_argument("--metric", help="what measures quality; default: what the first result's finding is about")
    parser.add_argument("--later", action="append", default=[], metavar="LABEL",
                        help="a method that came after the error was derived; may be given several times")
    parser.add_argument("--json", action="store_true", help="write the evidence as JSON")
    opt = parser.parse_args()
    sources, metric = read(opt.result, opt.metric.replace("-", "_") if opt.metric else None)
    table = Table(sources, metric)
    for label in opt.later:
        if label not in table.names:
            refuse(f"--later: no method '{label}' is compared; the methods are {', '.join(table.names)}")
    errors, first, alone = explain(table, opt.later)
    document = evidence(sources, table, errors, first, alone, opt.later)
    if opt.json:
        put_json(document)
    else:
        put_table(table, errors, document["tune"])


if __name__ == "__main__":
    main()
