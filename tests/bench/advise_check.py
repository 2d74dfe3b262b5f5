#!/usr/bin/env python3
"""Trains what sparsetune --advise recommends, of each task from the first tenth of a run, and asks two things. Methods that
send about as much: is the order of their errors that of what they reach, trained whole? The first of the list, whose
errors are within the tolerance: do they reach what no compression reaches? Needs the data sets.

usage: advise_check.py BIN FOLDER OUTPUT [TASK...]"""
import json
import os
import subprocess
import sys

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
LEAST, MOST = 0.7, 1.45  # times the bytes of the Top-k that the others are compared with
FIRST = 3  # of the list
# Few bits count, and nothing depends on this machine: 1 Gbit/s, and 10 ns a number for compression.
NETWORK = ["--set", "network.link=1gbe", "--set", "network.coding=10"]
TOLERANCE = "1"  # twice the program's own, so that the list shows what larger errors cost
TAIL = 0.2  # the metric is the median of so much of a run's end


def run(program, *arguments):
    subprocess.run([program, "--quiet", *arguments], check=True, stdout=subprocess.DEVNULL)


def read(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def ranks(values):
    """Ranks from 1; equal values share the mean of theirs."""
    return [1 + sum(y < x for y in values) + (sum(y == x for y in values) - 1) / 2 for x in values]


def spearman(x, y):
    a, b = ranks(x), ranks(y)
    mean = (len(a) + 1) / 2
    squares = sum((i - mean) ** 2 for i in a) * sum((j - mean) ** 2 for j in b)
    return sum((i - mean) * (j - mean) for i, j in zip(a, b)) / squares ** 0.5 if squares else None


def tail_median(series):
    values = sorted(v for v in series if v is not None)
    end = sorted([v for v in series if v is not None][-max(1, int(TAIL * len(values))):])
    middle = len(end) // 2
    return end[middle] if len(end) % 2 else (end[middle - 1] + end[middle]) / 2


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
        series = {r["label"]: r["series"][self.metric]["mean"] for r in read(out)["results"]}
        keys = ("label", "baseline", "share", "error", "error_over_least")
        return [{**{k: c[k] for k in keys}, self.metric: tail_median(series[c["label"]])}
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


def main():
    programs, folder, output = sys.argv[1:4]
    chosen = sys.argv[4:] or list(TASKS)
    results = {r["task"]: r for r in read(output)["tasks"]} if os.path.exists(output) else {}
    for name in chosen:
        results[name] = Check(name, programs, folder).run()
        with open(output + ".new", "w", encoding="utf-8") as file:
            json.dump({"schema": "sparsetune-check/1", "tasks": [results[n] for n in TASKS if n in results]}, file, indent=1)
            file.write("\n")
        os.replace(output + ".new", output)
        r = results[name]
        print(f"{name}: Spearman {r['spearman']:.2f}, place of the first {r['place_of_first']}", flush=True)


main()
