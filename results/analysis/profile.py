"""What methods pay for the quality of no compression over several results, each of which is a task.

Usage: python3 results/analysis/profile.py [--cost COLUMN] [--metric NAME] [--tolerance X] [--json] RESULT.json...

Methods are matched by name. The cost of a setting at a seed is the last value of a column (bits, or --cost) if the
run's quality is within the margin of the baseline's, else infinite. A plot of points with x-at: {when: METRIC, below:
X} makes X the target. A method's cost on a task is the least median of its settings. Printed are

* the profile: the fraction of tasks with cost / the least cost on the task at most tau
* the score: the mean of max(0, 4 - r) / 3 over the tasks, r that ratio (AlgoPerf, arXiv 2306.07179)
* the mean rank, where ties share the mean, and the place: 1 + the number of methods with a smaller mean rank

Intervals hold 95 % of 10,000 draws of tasks and seeds with replacement. Simulated, they hold the truth in 64, 82, 89
and 94 % of cases for the score of 2, 4, 8 and 32 tasks. --json writes the evidence, which sparseplot-export draws.
Python's standard library is enough."""
# SPDX-License-Identifier: MIT

import argparse
import math
import statistics

from basics import (Draws, Margin, get, interval, numbers, put_comment, put_json, put_left_out, put_lines, ranks,
                    read_result, refuse, spread, words)

DRAWS, SEED = 10000, 1  # of the bootstrap
MOST = 4  # times the least cost at which the score's integral ends
# Of intervals of nominal 95 % so many held the truth in simulations, by tasks: score, mean rank.
COVERAGE = ((2, 64, 64), (4, 82, 88), (8, 89, 91), (32, 94, 95))
INF = math.inf


# ---- what settings cost ----

class Task:
    """A result: what each setting of each method costs at each seed, infinity where it does not reach the target."""

    def __init__(self, path, opt):
        self.path, self.document, self.cost_column = path, read_result(path), opt.cost
        self.by_quality = opt.cost == "quality"
        self.name = get(self.document, "recipe.name") or path
        self.labels = self.document["results"]
        self.metric = opt.metric or get(self.document, "summary.metric")
        if not self.metric:
            refuse(f"{path}: its claims and plots name no metric of quality: give --metric")
        at = get(self.document, "summary.at") if get(self.document, "summary.metric") == self.metric else None
        self.at = at if at and not at.get("final") else None  # None: at the end
        self.margin = Margin(self.metric, opt.tolerance)
        self.choose_baseline()
        plot = None if self.by_quality else self.target_plot()
        self.when = plot["x_at"] if plot else None
        column = (self.baseline["final"].get(opt.cost) or {}).get("values")
        if not self.by_quality and not plot and not column:
            refuse(f"{path}: it has no {opt.cost} of each seed; choose another column with --cost")

    def plots(self):
        return (p for p in self.document.get("plots") or [] if isinstance(p.get("points"), list))

    def target_plot(self):
        """A plot whose points have the column as x where the metric first reaches a value."""
        when = lambda p: (get(p, "x_at.when") or "").replace("-", "_")
        return next((p for p in self.plots() if p.get("x") == self.cost_column and when(p) == self.metric), None)

    def row(self, label, plot, axis, column):
        """The numbers of a label at the baseline's seeds: those of a plot's points, or the last ones of a column."""
        if plot:
            points = (p for p in plot["points"] if p["label"] == label["label"])
            values = next((numbers(get(p, axis).get("values")) for p in points), [])
        else:
            values = numbers((label["final"].get(column) or {}).get("values"))
        of = dict(zip(label["seeds"], values))
        return [of.get(seed, math.nan) for seed in self.seeds]

    def quality(self, label):
        if not self.at:
            return self.row(label, None, "y", self.metric)
        plot = next((p for p in self.plots() if p.get("y") == self.metric and p.get("y_at") == self.at), None)
        return self.row(label, plot, "y", None)

    def choose_baseline(self):
        """The first label that is one, or of its method the label of the best quality."""
        sign, best = -1 if self.margin.higher else 1, math.nan
        self.baseline = None
        for label in self.labels:
            if not label["baseline"] or (self.baseline and self.baseline["method"] != label["method"]):
                continue
            self.seeds = label["seeds"]
            value = sign * statistics.fmean(self.quality(label))
            if not self.baseline or value < best or (math.isnan(best) and not math.isnan(value)):
                self.baseline, best = label, value
        if not self.baseline:
            refuse(f"{self.path}: no method is a baseline whose quality is to be reached")
        self.seeds = self.baseline["seeds"]
        if math.isnan(best):
            refuse(f"{self.path}: the result does not have {self.metric} of {self.baseline['label']} at every seed"
                   + (": a plot of kind points, with the metric as y and the finding's y-at, in the recipe puts it "
                      "there" if self.at else ""))

    def costs(self, label, base):
        quality = self.quality(label)
        if self.by_quality:
            paid = [(-1 if self.margin.higher else 1) * q for q in quality]
        else:
            paid = [c if self.when or self.margin.holds(q, b) else INF for c, q, b in
                    zip(self.row(label, self.target_plot(), "x", self.cost_column), quality, base)]
        return [INF if math.isnan(c) else c for c in paid]

    def group(self, methods, name_of):
        """settings: of each method its labels with their costs."""
        base = self.quality(self.baseline)
        self.settings = [[(label, self.costs(label, base)) for label in self.labels if name_of(self, label) == name]
                         for name in methods]


def name_tasks(tasks):
    """Tasks of one recipe, as on two networks, go by their files."""
    names = [task.name for task in tasks]
    for task in tasks:
        if names.count(task.name) > 1:
            task.name = task.path


def find_methods(tasks):
    """The methods that all tasks have, in their order, and what is left out. The baselines are one method."""
    base = {task.baseline["method"] for task in tasks}
    uncompressed = base.pop() if len(base) == 1 else "no compression"
    name_of = lambda task, label: uncompressed if label is task.baseline else label["method"]
    methods, left_out = [], []
    for name in dict.fromkeys(name_of(task, label) for task in tasks for label in task.labels):
        without = next((t for t in tasks if name not in [name_of(t, label) for label in t.labels]), None)
        if without:
            left_out.append({"name": name, "reason": f"not in {without.name}"})
        else:
            methods.append(name)
    if len(methods) < 2:
        refuse("fewer than two methods are in all of these results, by name")
    return methods, left_out, name_of


# ---- the comparison ----

def cheapest(task, seeds):
    """Of each method the first of its cheapest settings at these seeds, and its cost."""
    out = []
    for settings in task.settings:
        medians = [statistics.median([costs[s] for s in seeds]) for _, costs in settings]
        best = min(range(len(medians)), key=medians.__getitem__)
        out.append((best, medians[best]))
    return out


def compare(task, seeds):
    """Of each method (setting, cost, ratio, rank)."""
    found = cheapest(task, seeds)
    costs = [cost for _, cost in found]
    least = min(costs)
    ratio = [INF if math.isinf(c) else 1 if c == least else c / least for c in costs]
    return list(zip([s for s, _ in found], costs, ratio, ranks(costs)))


def score_of(ratio):
    return max(0, MOST - ratio) / (MOST - 1)


def over(cells):
    """Of each method its score, mean rank and place; cells [tasks][methods]. Ranks are multiples of 1/2, so that equal
    sums are equal."""
    total = [sum(ranks_of) for ranks_of in zip(*([cell[3] for cell in task] for task in cells))]
    score = [sum(score_of(r) / len(cells) for r in ratios) for ratios in zip(*([c[2] for c in task] for task in cells))]
    ordered = sorted(total)
    place = {rank: 1 + ordered.index(rank) for rank in set(total)}
    return score, [rank / len(cells) for rank in total], [place[rank] for rank in total]


def resample(tasks, methods):
    """[score, rank, place][method][draw]. What a task gives depends on which seeds were drawn, not on their order."""
    known = {}
    out = [[[] for _ in methods] for _ in range(3)]
    for number in range(DRAWS):
        rng, cells = Draws(SEED, number), []
        for _ in tasks:
            t = rng.below(len(tasks))
            n = len(tasks[t].seeds)
            seeds = tuple(sorted(rng.below(n) for _ in range(n)))
            if (t, seeds) not in known:
                known[t, seeds] = compare(tasks[t], seeds)
            cells.append(known[t, seeds])
        for of, values in zip(out, over(cells)):
            for m, value in enumerate(values):
                of[m].append(value)
    return out


def profile(tasks, methods):
    """cells [tasks][methods] and of each method its numbers."""
    cells = [compare(task, range(len(task.seeds))) for task in tasks]
    drawn = resample(tasks, methods)
    found = [{name: interval(values[m], draws[m])
              for name, values, draws in zip(("score", "rank", "place"), over(cells), drawn)}
             for m in range(len(methods))]
    for m, method in enumerate(found):
        method["reached"] = sum(math.isfinite(task[m][1]) for task in cells)
    return cells, found


# ---- output ----

def cost_text(tasks, cost):
    """What methods are compared by, as a clause."""
    texts = {task.margin.text for task in tasks}
    margin = texts.pop() if len(texts) == 1 else "the margin of their metric"
    end = f"{words(cost)} of runs that end within {margin} of no compression's quality"
    if cost == "quality":
        return cost
    if all(task.when for task in tasks):
        return f"{words(cost)} until the target"
    return f"{words(cost)} until the target, or{end[len(words(cost)):]}" if any(task.when for task in tasks) else end


def ordinal(n):
    return f"{n}{'th' if n // 10 % 10 == 1 else ('th', 'st', 'nd', 'rd', *['th'] * 6)[n % 10]}"


def places(place):
    low, high = ordinal(math.floor(place["low"])), ordinal(math.ceil(place["high"]))
    return low if low == high else f"{low} to {high}"


def conclusion(tasks, methods, found, order, cost):
    out = []
    for m in order[:3]:
        f = found[m]
        score = "" if cost == "quality" else (f", score {f['score']['value']:.2f} ({f['score']['low']:.2f} to "
                                              f"{f['score']['high']:.2f})")
        out.append(f"{methods[m]}: mean rank {f['rank']['value']:.2f} of {len(methods)} methods, place "
                   f"{f['place']['value']:.0f} ({places(f['place'])}, 95 %){score}.")
    counts = [len(settings) for task in tasks for settings in task.settings]
    if min(counts) < max(counts):
        out.append(f"The methods have {min(counts)} to {max(counts)} settings on a task, of which the best counts: "
                   f"more settings look better even where all are alike.")
    for t, task in enumerate(tasks):
        for other in tasks[:t]:
            if get(task.document, "recipe.resolved.task") == get(other.document, "recipe.resolved.task"):
                out.append(f"{other.name} and {task.name} train the same model on the same data: they are no "
                           f"independent tasks.")
    n, score, rank = [c for i, c in enumerate(COVERAGE) if i == 0 or c[0] <= len(tasks)][-1]
    out.append(f"The methods are compared by {cost_text(tasks, cost)}. Intervals are of a bootstrap over seeds and "
               f"{len(tasks)} task{'s' * (len(tasks) != 1)}; simulated with {n}, such an interval held the true score "
               f"in {score} % and the true mean rank in {rank} % of cases.")
    return out


def series(ratios):
    """The profile as a line: two points at each ratio, one before and one behind the step."""
    share = lambda tau: sum(r <= tau for r in ratios) / len(ratios)
    largest = 1.1 * max([MOST] + [r for r in ratios if math.isfinite(r)])
    x, y = [1], [share(1)]
    for at in sorted({r for r in ratios if 1 < r < INF}):
        x += [at, at]
        y += [y[-1], share(at)]
    return x + [largest], y + [y[-1]]


def evidence(tasks, methods, left_out, cells, found, order, opt):
    quality = opt.cost == "quality"
    largest = 1.1 * max([MOST] + [c[2] for task in cells for c in task if math.isfinite(c[2])])
    text = cost_text(tasks, opt.cost)
    results = []
    for m in order:
        f, of = found[m], [task[m] for task in cells]
        final = {} if quality else {"tasks_reached": f["reached"], "score": spread([score_of(c[2]) for c in of])}
        final.update(rank=spread([c[3] for c in of]), place=f["place"]["value"],
                     place_from=math.floor(f["place"]["low"]), place_to=math.ceil(f["place"]["high"]))
        x, y = series([c[2] for c in of])
        results.append({"label": methods[m], "method": methods[m],
                        "compressor": tasks[0].settings[m][0][0]["compressor"], "baseline": False,
                        "seeds": [task.name for task in tasks],
                        "series": {} if quality else {"cost_ratio": x[:-1] + [largest], "share_of_tasks": y},
                        "final": final})
    plot = lambda x, y, log, title, kind: {"x": x, "y": y, "log": log, "title": title, "kind": kind, "band": "none",
                                           "points": None}
    curves = [] if quality else [plot("cost_ratio", "share_of_tasks", "x", "performance profiles", "curves")]
    note = (f"Mean ± standard deviation over {len(tasks)} task{'s' * (len(tasks) != 1)}; places by mean rank, with "
            f"the interval that holds 95 % of bootstrap draws of seeds and tasks; cost: {text}")
    about = [{"name": t.name, "path": t.path, "metric": t.metric, "margin": t.margin.text,
              "better": "higher" if t.margin.higher else "lower", "at": t.at, "target": t.when,
              "baseline": t.baseline["label"], "unit": get(t.document, "units." + opt.cost),
              "network": get(t.document, "network.model"), "seeds": t.seeds,
              "settings": [{"method": name, "label": label["label"], "cost": costs}
                           for name, settings in zip(methods, t.settings) for label, costs in settings]}
             for t in tasks]
    of_tasks = lambda m: [{"task": t.name, "label": t.settings[m][c[m][0]][0]["label"] if c[m][1] < INF else None,
                           "settings": len(t.settings[m]), "cost": c[m][1], "ratio": None if quality else c[m][2],
                           "rank": c[m][3]} for t, c in zip(tasks, cells)]
    return {"schema": "sparsebench/1", "status": "ok", "program": None, "run": None,
            "recipe": {"name": "profile", "title": f"{text[0].upper()}{text[1:]} on {len(tasks)} tasks"},
            "dataset": {"name": ", ".join(task.name for task in tasks), "source": "results"}, "over": "tasks",
            "units": {"cost_ratio": "of the least"}, "results": results, "claims": [],
            "plots": curves + [plot("place", "rank", "none", "rank on each task", "ranking")],
            "table": {"columns": (["rank"] if quality else ["tasks_reached", "score", "rank"])
                      + ["place", "place_from", "place_to"], "footnote": note},
            "tune": {"action": "profile", "results": [task.path for task in tasks], "cost": opt.cost,
                     "tolerance": tasks[0].margin.share, "draws": DRAWS, "seed": str(SEED), "confidence": 0.95,
                     "most_ratio": MOST, "tasks": about,
                     "methods": [{"method": name, "reached": f["reached"], "score": None if quality else f["score"],
                                  "rank": f["rank"], "place": f["place"], "tasks": of_tasks(m)}
                                 for m, (name, f) in enumerate(zip(methods, found))],
                     "left_out": left_out, "conclusion": conclusion(tasks, methods, found, order, opt.cost)}}


def put_table(tasks, methods, left_out, cells, found, order, document, cost):
    print(f"# {len(methods)} methods on {len(tasks)} task{'s' * (len(tasks) != 1)} by {cost_text(tasks, cost)}")
    span = lambda f: [f"{f['value']:.2f}", f"{f['low']:.2f} to {f['high']:.2f}"]
    score = lambda m: [] if cost == "quality" else [f"{found[m]['reached']} of {len(tasks)}", *span(found[m]["score"])]
    head = ["method"] + ([] if cost == "quality" else ["reached", "score", "95 %"]) + ["mean rank", "95 %", "place",
                                                                                      "95 %"]
    lines = [[methods[m], *score(m), *span(found[m]["rank"]), f"{found[m]['place']['value']:.0f}",
              places(found[m]["place"])] for m in order]
    put_lines(head, lines, [i for i, name in enumerate(head) if name in ("score", "mean rank", "place")])
    if cost != "quality":
        print("#\n# times the least cost of a task")
        times = lambda r: "not reached" if math.isinf(r) else f"{r:.3g}"
        put_lines(["method"] + [task.name for task in tasks],
                  [[methods[m]] + [times(task[m][2]) for task in cells] for m in order], range(1, len(tasks) + 1))
    print("#")
    put_left_out(left_out)
    print("#")
    for sentence in document["tune"]["conclusion"]:
        put_comment(sentence)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("result", nargs="+", metavar="RESULT.json")
    parser.add_argument("--cost", default="bits", metavar="COLUMN",
                        help="what methods pay in: a column, as bits (default), bytes-sent, or time of a network; or "
                             "quality, by which they are then ranked without a target")
    parser.add_argument("--metric", help="what measures quality; default: what each result's finding is about")
    parser.add_argument("--tolerance", type=float, metavar="X",
                        help="the share of the baseline's quality that a run may miss; default: the metric's margin")
    parser.add_argument("--json", action="store_true", help="write the evidence as JSON")
    opt = parser.parse_args()
    opt.cost = opt.cost.replace("-", "_")
    opt.metric = opt.metric.replace("-", "_") if opt.metric else None
    tasks = [Task(path, opt) for path in opt.result]
    name_tasks(tasks)
    methods, left_out, name_of = find_methods(tasks)
    for task in tasks:
        task.group(methods, name_of)
    cells, found = profile(tasks, methods)
    order = sorted(range(len(methods)), key=lambda m: found[m]["rank"]["value"])
    document = evidence(tasks, methods, left_out, cells, found, order, opt)
    if opt.json:
        put_json(document)
    else:
        put_table(tasks, methods, left_out, cells, found, order, document, opt.cost)


if __name__ == "__main__":
    main()
