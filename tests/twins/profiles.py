"""results/analysis/profile.py once more, in NumPy: costs, ratios, performance profiles, scores, ranks and their bootstrap.

Reads the evidence on stdin, takes from it what every setting costs at every seed, and compares the rest."""
# SPDX-License-Identifier: MIT

import json
import sys

import numpy as np
from common import Stream

np.seterr(invalid="ignore")

BOOTSTRAP, ALL_WORKERS = 15, 2**24 - 1  # purpose of the stream, worker (lib/core/sg_rng.h)


def median(x):
    """In the last axis; infinity where half of the numbers are."""
    s = np.sort(x, -1)
    n = s.shape[-1]
    return (s[..., (n - 1) // 2] + s[..., n // 2]) / 2


def compare(cost, most):
    """cost [methods][tasks]: ratios, scores, ranks on each task, mean ranks, places."""
    least = cost.min(0)
    ratio = np.where(np.isinf(cost), np.inf, np.where(cost == least, 1, cost / least))
    score = (np.maximum(0, most - ratio) / (most - 1)).mean(1)
    one, other = cost[:, None], cost[None]
    rank = (one > other).sum(1) + ((one == other).sum(1) + 1) / 2
    mean = rank.mean(1)
    place = 1 + (rank.sum(1)[None] < rank.sum(1)[:, None]).sum(1)
    return ratio, score, rank, mean, place


def near(a, b):
    return (a is None and not np.isfinite(b)) or (a is not None and abs(a - b) <= 1e-9 * max(1, abs(b)))


def main():
    document = json.load(sys.stdin)
    tune = document["tune"]
    names = [m["method"] for m in tune["methods"]]
    tasks = []
    for task in tune["tasks"]:
        rows = [[s["cost"] for s in task["settings"] if s["method"] == name] for name in names]
        tasks.append([np.array([[np.inf if c is None else c for c in r] for r in row]) for row in rows])
    costs = lambda task, seeds: [median(row[:, seeds]).min() for row in task]
    point = compare(np.array([costs(t, np.arange(t[0].shape[1])) for t in tasks]).T, tune["most_ratio"])
    drawn = []
    for number in range(tune["draws"]):
        stream = Stream(int(tune["seed"]), BOOTSTRAP, ALL_WORKERS, number)
        cost = []
        for _ in tasks:
            task = tasks[stream.below(len(tasks))]
            n = task[0].shape[1]
            cost.append(costs(task, [stream.below(n) for _ in range(n)]))
        drawn.append([compare(np.array(cost).T, tune["most_ratio"])[k] for k in (1, 3, 4)])
    low, high = np.quantile(np.array(drawn, dtype=float), [0.025, 0.975], axis=0)
    wrong = 0

    def check(what, said, value):
        nonlocal wrong
        if not near(said, value):
            print(f"wrong: {what}: {said} where NumPy has {value}")
            wrong += 1

    ratio, score, rank, mean, place = point
    for m, method in enumerate(tune["methods"]):
        for k, (key, value) in enumerate((("score", score), ("rank", mean), ("place", place))):
            if method[key] is not None:
                for part, number in (("value", value[m]), ("low", low[k, m]), ("high", high[k, m])):
                    check(f"{method['method']} {key} {part}", method[key][part], number)
        for t, task in enumerate(method["tasks"]):
            check(f"{method['method']} rank on {task['task']}", task["rank"], rank[m, t])
            if method["score"] is not None:
                check(f"{method['method']} ratio on {task['task']}", task["ratio"], ratio[m, t])
        row = next(r for r in document["results"] if r["label"] == method["method"])["series"]
        for tau, share in zip(row.get("cost_ratio", [])[1::2], row.get("share_of_tasks", [])[1::2]):
            below = np.mean(ratio[m] < tau)
            check(f"{method['method']} share of tasks below {tau}", share, below)
    print(f"{len(names)} methods on {len(tasks)} tasks, {tune['draws']} draws, {wrong} wrong")
    return wrong > 0


sys.exit(main())
