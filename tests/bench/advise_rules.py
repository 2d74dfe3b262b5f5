"""Rules that pick one method of several that send about as much: by an error of sparsetune --advise, by an error or the
metric of a short run, or always hard-threshold. What they pick is held against what published results reach."""
# SPDX-License-Identifier: MIT
import json
import os
import re
import subprocess

LEAST, MOST = 0.7, 1.45  # methods of one volume send so many times what the first of them sends
TAIL = 0.2  # the metric is the median of so much of a run's end
# Few bits count, and nothing depends on this machine: 1 Gbit/s, and 10 ns a number for compression.
NETWORK = ["--set", "network.link=1gbe", "--set", "network.coding=10"]
# Rules and members of a candidate.
REPLAYED = {"relative": "error", "mean": "error_mean", "lag": "error_lag", "drift": "error_drift"}
SHORT = ("short relative", "short lag", "short curvature", "short metric")  # rules by a run of a tenth of the length


def published(result, metric, volume, hard, rows="(.*)", *changes):
    """A setting: the rows of a result that match, at the volume of its row `hard`. Group 1 of the pattern is the label
    in the recipe with the changes."""
    return {"result": result, "metric": metric, "volume": volume, "hard": hard, "rows": rows, "changes": changes}


def at_rate(result, volume, hard, rate):
    at = f" learning-rate={rate}"
    return published(result, "relative_suboptimality", volume, hard + at, "(.*)" + re.escape(at),
                     f"optimizer.learning-rate={rate}")


# The methods of dynamic-quantization but DQ-SGD by equation (18), whose parameter needs l2 and L, which gradients lack.
LEVELS = ("methods=[{name: SGD, compressor: none, baseline: true}, "
          "{name: QSGD, compressor: qsgd, levels: [3, 7, 15, 31, 63]}, "
          "{name: Doubling, compressor: qsgd, levels: 3, controller: {kind: doubling, interval: 40}}, "
          "{name: AdaQS, compressor: qsgd, levels: 3, controller: {kind: adaqs, interval: 5}}, "
          "{name: DQ-SGD by norm alone, compressor: qsgd, levels: [31, 63, 127], controller: dqsgd}, "
          "{name: Hard-threshold, compressor: hard-threshold, error-feedback: update, budget: [0.05, 0.09]}]")
SETTINGS = {
    **{f"madelon, {share} of the bytes": published("compressors", "relative_suboptimality", "bytes_sent",
                                                   f"Hard-threshold lambda={value}")
       for share, value in (("0.15", "537.9"), ("0.045", "1193"))},
    **{f"madelon, {budget} of the elements, rate {rate}": at_rate(
        "bit-budget", "bits", f"Hard-threshold budget={budget}", f"{rate}/(L+l2)")
       for rate in ("0.1", "1") for budget in ("0.002", "0.032")},
    **{f"madelon, full gradients, rate {rate}": at_rate("learning-rates", "bits", "Hard-threshold", f"{rate}/(L+l2)")
       for rate in ("0.03", "0.1", "0.2", "0.3", "0.5", "1")},
    **{f"madelon, Adam, rate {rate}": at_rate("adaptive-methods", "bytes_sent", "Hard-threshold", rate)
       for rate in ("1e-7", "3e-7", "1e-6")},
    **{f"madelon, batches of 10, {budget}": published("dynamic-quantization", "relative_suboptimality", "bits",
                                                      f"Hard-threshold budget={budget}", "(.*)", LEVELS)
       for budget in ("0.05", "0.09")},
    "ResNet-8, 0.13 of the bytes": published("mini-compressors", "test_accuracy", "bytes_sent",
                                             "Hard-threshold lambda=0.0101"),
    "ResNet-8, 0.033 of the bytes": published("mini-compressors", "test_accuracy", "bytes_sent",
                                              "Hard-threshold lambda=0.02397"),
    **{f"ResNet-8, lambda {value}": published("mini-fig2a", "test_accuracy", "bits", f"Hard-threshold lambda={value}")
       for value in ("0.1216", "0.07938", "0.04521")},
    "ResNet-8, a threshold by noise": published("mini-why-threshold", "test_accuracy", "bits", "Hard-threshold"),
    **{f"LSTM, lambda {value}": published("mini-fig2b", "test_perplexity", "bits", f"Hard-threshold lambda={value}",
                                          "((?!.* at 20).*)") for value in ("0.03", "0.014", "0.007")},
    "LSTM, peak rate 20": published("mini-fig2b", "test_perplexity", "bits", "Hard-threshold at 20", "(.* at 20)",
                                    "optimizer.learning-rate=5"),
    **{f"NeuMF, lambda {value}": published("mini-fig2c", "hit_rate", "bits", f"Hard-threshold lambda={value}",
                                           "((?!.*shuffled).*)") for value in ("0.00235", "0.0005729", "9.321e-05")},
    **{f"NeuMF, shuffled, lambda {value}": published("mini-fig2c", "hit_rate", "bits",
                                                     f"Hard-threshold, shuffled lambda={value}", "(.*shuffled.*)",
                                                     "task.sharding=global")
       for value in ("0.001768", "0.0005729", "9.321e-05")},
}
MORE = ("test_accuracy", "hit_rate")  # metrics of which more is better


def run(program, *arguments):
    subprocess.run([program, "--quiet", *arguments], check=True, stdout=subprocess.DEVNULL)


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def stored(name):
    """The result of a name that is published, or archived."""
    path = f"results/{name}.json"
    return read(path if os.path.exists(path) else f"results/archive/{name}.json")


# ---- numbers ----

def ranks(values):
    """Ranks from 1; equal values share the mean of theirs."""
    return [1 + sum(y < x for y in values) + (sum(y == x for y in values) - 1) / 2 for x in values]


def spearman(x, y):
    a, b = ranks(x), ranks(y)
    mean = (len(a) + 1) / 2
    squares = sum((i - mean) ** 2 for i in a) * sum((j - mean) ** 2 for j in b)
    return sum((i - mean) * (j - mean) for i, j in zip(a, b)) / squares ** 0.5 if squares else None


def tail_median(series):
    known = [v for v in series if v is not None]
    if not known:
        return None
    end = sorted(known[-max(1, int(TAIL * len(known))):])
    middle = len(end) // 2
    return end[middle] if len(end) % 2 else (end[middle - 1] + end[middle]) / 2


def reached(result, metric):
    """{label: what each seed reached}, as the result's finding takes its metric from a run: of a plot of points or of the
    claims, which see every record. A published series has a part of them, so nothing is taken from it."""
    at = result["summary"]["at"]
    assert result["summary"]["metric"] == metric, result["recipe"]["name"]
    found = {}
    for plot in result["plots"]:
        if plot.get("points") and plot["y"] == metric and plot["y_at"] == at:
            found.update((point["label"], point["y"]["values"]) for point in plot["points"])
    for claim in result["claims"]:
        bound = claim.get("bound") or {}
        if claim.get("metric") == metric and claim.get("at") == at:
            found.setdefault(claim["of"], [s["value"] for s in claim["seeds"]])
            if bound.get("metric") == metric and bound["at"] == at:
                found.setdefault(bound["of"], [(s["bound"] - bound["plus"]) / bound["times"] for s in claim["seeds"]])
    return found


def mean_and_deviation(values):
    mean = sum(values) / len(values)
    return mean, (sum((v - mean) ** 2 for v in values) / (len(values) - 1)) ** 0.5 if len(values) > 1 else 0


def last(row, series):
    known = [v for v in row["series"].get(series, {"mean": []})["mean"] if v is not None]
    return known[-1] if known else None


# ---- rules ----

def judge(rows, metric):
    """What each rule picks of rows {label, hard, quality, deviation, seeds, errors}: its place from 1, what it loses to
    the best, and whether the best is better by more than two standard errors of the difference."""
    more = metric in MORE
    loss = [r["quality"] * (-1 if more else 1) for r in rows]
    best = loss.index(min(loss))
    found = {}
    for rule in ("hard-threshold", *REPLAYED, *SHORT):
        if rule == "hard-threshold":
            pick = next((i for i, r in enumerate(rows) if r["hard"]), None)
            known = []
        else:
            known = [i for i, r in enumerate(rows) if r["errors"].get(rule) is not None]
            pick = min(known, key=lambda i: rows[i]["errors"][rule]) if len(known) > 1 else None
        if pick is None:
            continue
        spread = sum(rows[i]["deviation"] ** 2 / rows[i]["seeds"] for i in (pick, best)) ** 0.5
        regret = loss[pick] - loss[best]
        found[rule] = {
            "pick": rows[pick]["label"], "quality": rows[pick]["quality"],
            "place": 1 + sum(x < loss[pick] for x in loss), "regret": regret, "worse": regret > 2 * spread,
            "spearman": spearman([rows[i]["errors"][rule] for i in known], [loss[i] for i in known]) if known else None}
    return {"best": rows[best]["label"], "best_quality": rows[best]["quality"], "methods": len(rows), "rules": found}


class Published:
    """Replays, and short runs of logistic regression, of the recipes behind published results; each only once."""

    def __init__(self, programs, folder):
        self.tune, self.bench = (os.path.join(programs, p) for p in ("sparsetune", "sparsebench"))
        self.folder, self.advices, self.shorts = folder, {}, {}

    def words(self, result, changes, *more):
        path = os.path.join(self.folder, result, "cells")
        os.makedirs(path, exist_ok=True)
        return [stored(result)["recipe"]["path"], "--folder", path, "--force",
                *[w for c in (*changes, "claims=[]", "plots=[]", *more) for w in ("--set", c)]]

    def advice(self, result, changes):
        key = (result, changes)
        if key not in self.advices:
            out = os.path.join(self.folder, result, f"advice-{len(self.advices)}.json")
            run(self.tune, *self.words(result, changes), *NETWORK, "--advise", "--candidates", "recipe", "-o", out)
            self.advices[key] = read(out)["tune"]
        return self.advices[key]

    def short(self, result, changes, metric, steps):
        """{label: {rule: value}} of runs with compression, as long as the recording, at the first seed."""
        key = (result, changes)
        if key not in self.shorts:
            out = os.path.join(self.folder, result, f"short-{len(self.shorts)}.json")
            series = ", ".join([metric.replace("_", "-"), "error-relative", "error-lag", "error-curvature"])
            run(self.bench, *self.words(result, changes, "seeds=[1]", "epochs=null", f"steps={steps}",
                                        f"record={{every: 5, series: [{series}]}}"), "-o", out)
            sign = -1 if metric in MORE else 1
            self.shorts[key] = {r["label"]: {
                "short relative": last(r, "error_relative"),
                "short lag": self.mean(r, "error_lag"),
                "short curvature": self.mean(r, "error_curvature"),
                "short metric": sign * tail_median(r["series"][metric]["mean"])} for r in read(out)["results"]}
        return self.shorts[key]

    @staticmethod
    def mean(row, series):
        known = [v for v in row["series"][series]["mean"] if v is not None]
        return abs(sum(known) / len(known)) if known else None

    def judge(self, name):
        s = SETTINGS[name]
        result = stored(s['result'])
        matched = [(re.fullmatch(s["rows"], r["label"]), r) for r in result["results"] if not r["baseline"]]
        whole = {r["label"]: last(r, s["volume"]) for _, r in matched}
        advice = self.advice(s["result"], s["changes"])
        replayed = {c["label"]: c for c in advice["candidates"] if not c["left_out"]}
        short = {}
        if s["metric"] == "relative_suboptimality":
            short = self.short(s["result"], s["changes"], s["metric"], advice["gradients"]["steps"])
        rows, qualities = [], reached(result, s["metric"])
        for match, r in matched:
            share = (whole[r["label"]] or 0) / whole[s["hard"]]
            if not match or not LEAST <= share <= MOST or match[1] not in replayed:
                continue
            quality, deviation = mean_and_deviation(qualities[r["label"]])
            rows.append({"label": match[1], "hard": r["label"] == s["hard"], "quality": quality,
                         "deviation": deviation, "seeds": len(r["seeds"]), "volume": share,
                         "errors": {**{rule: replayed[match[1]][member] for rule, member in REPLAYED.items()},
                                    **short.get(match[1], {})}})
        return {"setting": name, "result": s["result"], "metric": s["metric"], "steps": advice["gradients"]["steps"],
                **judge(rows, s["metric"]), "rows": rows}

    @staticmethod
    def again(setting):
        """The same of a stored setting, whose errors stay: the methods' qualities are read from the result once more."""
        s = SETTINGS[setting["setting"]]
        result = stored(s['result'])
        qualities = reached(result, s["metric"])
        matched = {re.fullmatch(s["rows"], label): label for label in qualities}
        label = {match[1]: label for match, label in matched.items() if match}
        for row in setting["rows"]:
            row["quality"], row["deviation"] = mean_and_deviation(qualities[label[row["label"]]])
        return {**setting, **judge(setting["rows"], s["metric"]), "rows": setting["rows"]}


def summary(settings):
    """For each rule: the number of settings, in how many its pick is the best or not told apart from it, the mean place
    from 0, the best, to 1, the mean Spearman, and how often its pick is better or worse than hard-threshold."""
    found = {}
    for rule in ("hard-threshold", *REPLAYED, *SHORT):
        of = [(s, s["rules"][rule]) for s in settings if rule in s["rules"]]
        orders = [r["spearman"] for _, r in of if r["spearman"] is not None]
        if of:
            found[rule] = {
                "settings": len(of), "best": sum(r["place"] == 1 for _, r in of),
                "not_worse": sum(not r["worse"] for _, r in of),
                "place": sum((r["place"] - 1) / (s["methods"] - 1) for s, r in of) / len(of),
                "spearman": sum(orders) / len(orders) if orders else None,
                "better_than_hard": sum(r["place"] < s["rules"]["hard-threshold"]["place"] for s, r in of),
                "worse_than_hard": sum(r["place"] > s["rules"]["hard-threshold"]["place"] for s, r in of)}
    return found
