#!/usr/bin/env python3
"""Trains what sparsetune --advise recommends, of each task from the first tenth of a run, and asks two things. Methods
that send about as much: is the order of their errors that of what they reach, trained whole? The first of the list,
whose errors are within the tolerance: do they reach what no compression reaches? Then it asks for published results
which error picks the best of methods that send as much, and whether a pick is better than hard-threshold
(advise_rules.py). Needs the data sets.

usage: advise_check.py BIN FOLDER OUTPUT [TASK... | published | again]
again: judge what is stored by the results as they are now; nothing is replayed or trained."""
# SPDX-License-Identifier: MIT
import json
import os
import sys

from advise_rules import (LEAST, MOST, NETWORK, REPLAYED, SETTINGS, Published, judge, read, run, spearman, summary,
                          tail_median)

# recipe, its metric, is more better, --set, seeds that are trained, of which methods the volume is taken
TASKS = {
    "madelon": ("recipes/fig1-madelon.yaml", "relative_suboptimality", False,
                ["record.every=60", "record.series=[relative-suboptimality, bytes-sent]"], "1, 2, 3", 0.01),
    "mini-fig2a": ("recipes/mini/fig2a.yaml", "test_accuracy", True,
                   ["record.series=[test-accuracy, train-loss, bytes-sent]"], "1", 0.01),
    "mini-fig2b": ("recipes/mini/fig2b.yaml", "test_perplexity", False,
                   ["record.series=[test-perplexity, train-loss, bytes-sent]"], "1", 0.01),
    "mini-fig2c": ("recipes/mini/fig2c.yaml", "hit_rate", True,
                   ["record.series=[hit-rate, train-loss, bytes-sent]"], "1", 0.01),
}
FIRST = 3  # of the list
TOLERANCE = "1"  # twice the program's own, so that the list shows what larger errors cost


class Check:
    """One task."""

    def __init__(self, name, programs, folder):
        self.name, self.at = name, os.path.join(folder, name)
        self.recipe, self.metric, self.more, changes, self.seeds, self.density = TASKS[name]
        self.sets = [word for change in [*changes, "claims=[]", "plots=[]"] for word in ("--set", change)]
        self.cells = ["--folder", os.path.join(self.at, "cells"), "--force"]
        self.tune, self.bench = (os.path.join(programs, p) for p in ("sparsetune", "sparsebench"))
        os.makedirs(self.at, exist_ok=True)

    def path(self, name):
        return os.path.join(self.at, name)

    def advise(self, name, *arguments):
        """The advice; the recipe that comes with it is at path(name + ".yaml")."""
        run(self.tune, self.recipe, *self.cells, *self.sets, *NETWORK, *arguments, "--advise", "--emit-recipe",
            self.path(name + ".yaml"), "-o", self.path(name + ".json"))
        return read(self.path(name + ".json"))["tune"]

    def train(self, name, advice, *labels):
        """Whole runs of methods of that recipe: rows of what was advised, by the error."""
        out = self.path(name + "-trained.json")
        run(self.bench, self.path(name + ".yaml"), *self.cells, *self.sets, "--set", f"seeds=[{self.seeds}]", "-o", out,
            *[word for label in labels for word in ("--method", label)])
        series = {r["label"]: r["series"][self.metric] for r in read(out)["results"]}
        keys = ("label", "baseline", "share", *REPLAYED.values(), "error_over_least")
        return [{**{k: c[k] for k in keys}, self.metric: tail_median(series[c["label"]]["mean"]),
                 "deviation": tail_median(series[c["label"]]["std"])}
                for c in sorted(advice["candidates"], key=lambda c: c["error"]) if c["label"] in series]

    def run(self):
        advice = self.advise("list", "--tolerance", TOLERANCE)
        found = [c for c in advice["candidates"] if not c["left_out"]]
        base = next(c for c in found if c["baseline"])
        within = self.train("list", advice, base["label"], *advice["list"][:FIRST])

        volume = next(c for c in found if c["label"] == f"Top-k of the model density={self.density}")["bytes"]
        methods = ", ".join(c["recipe"] for c in found if c["baseline"] or LEAST <= c["bytes"] / volume <= MOST)
        equal = self.train("equal", self.advise("equal", "--set", f"methods=[{methods}]", "--candidates", "recipe",
                                                "--tolerance", "1e9"))
        tried = [r for r in equal if not r["baseline"]]
        quality = [r[self.metric] * (-1 if self.more else 1) for r in tried]
        order = sorted(range(len(tried)), key=lambda i: quality[i])
        return {"task": self.name, "recipe": self.recipe, "metric": self.metric,
                "better": "higher" if self.more else "lower", "seeds": len(self.seeds.split(",")),
                "steps": advice["gradients"]["steps"], "share_of_run": advice["gradients"]["share_of_run"],
                "tolerance": advice["tolerance"], "list": advice["list"], "within": within, "equal_volume": equal,
                "trained": [tried[i]["label"] for i in order],
                "spearman": spearman([r["error"] for r in tried], quality), "hit": order[0] == 0,
                "place_of_first": order.index(0) + 1}


def trivial(task):
    """What the rules pick of a task's methods of equal volume; errors that its advice did not have are absent."""
    rows = [{"label": r["label"], "hard": r["label"].startswith("Hard-threshold lambda"), "quality": r[task["metric"]],
             "deviation": r.get("deviation") or 0, "seeds": task["seeds"],
             "errors": {rule: r.get(member) for rule, member in REPLAYED.items()}}
            for r in task["equal_volume"] if not r["baseline"]]
    return judge(rows, task["metric"])["rules"]


def put(name, methods, best, rules):
    print(f"{name}: the best of {methods} is {best}", flush=True)
    for rule, r in rules.items():
        order = "" if r["spearman"] is None else f", Spearman {r['spearman']:.2f}"
        print(f"  {rule:15} {r['pick']}: {r['quality']:.4g}, place {r['place']}, loses {r['regret']:.3g}"
              f"{' (beyond two standard errors)' if r['worse'] else ''}{order}", flush=True)


def main():
    programs, folder, output = sys.argv[1:4]
    chosen = sys.argv[4:] or [*TASKS, "published"]
    stored = read(output) if os.path.exists(output) else {}
    results = {r["task"]: r for r in stored.get("tasks", [])}
    settings = {r["setting"]: r for r in stored.get("settings", [])}
    source = Published(programs, folder)
    if chosen == ["again"]:
        chosen = list(settings)
        source.judge = lambda name: source.again(settings[name])
    for name in [n for c in chosen for n in (SETTINGS if c == "published" else [c])]:
        if name in TASKS:
            results[name] = Check(name, programs, folder).run()
        else:
            settings[name] = source.judge(name)
        for r in results.values():
            r["rules"] = trivial(r)
        found = [settings[n] for n in SETTINGS if n in settings]
        wins = [s for s in found if s["rules"]["hard-threshold"]["place"] == 1]
        parts = {"all": found, "hard-threshold is the best": wins,
                 "hard-threshold is not the best": [s for s in found if s not in wins]}
        with open(output + ".new", "w", encoding="utf-8") as file:
            json.dump({"schema": "sparsetune-check/1", "tasks": [results[n] for n in TASKS if n in results],
                       "settings": found, "summary": {part: summary(of) for part, of in parts.items()}}, file, indent=1)
            file.write("\n")
        os.replace(output + ".new", output)
        if name in TASKS:
            put(name, len(results[name]["trained"]), results[name]["trained"][0], results[name]["rules"])
        else:
            put(name, settings[name]["methods"], settings[name]["best"], settings[name]["rules"])
    for part, of in read(output)["summary"].items():
        print(f"{part}:")
        for rule, r in of.items():
            order = "" if r["spearman"] is None else f", Spearman {r['spearman']:.2f}"
            print(f"  {rule:15} of {r['settings']}: best {r['best']}, not told apart from it {r['not_worse']}, "
                  f"mean place {r['place']:.2f}{order}, better than hard-threshold {r['better_than_hard']}, "
                  f"worse {r['worse_than_hard']}")


main()
