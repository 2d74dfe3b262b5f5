"""Two runs that write one file, and two grids in one folder: a whole result of one of them, and the other one says why not."""
# SPDX-License-Identifier: MIT

import json
import os
import time

from torture import RECIPES, SMOKE, series

WHAT = "two programs with one output"

METHODS = ["Top-k", "Hard-threshold"]


def train(t, method, more):
    return [
        t.program("sparsetrain"),
        "-q",
        os.path.join(RECIPES, "logreg.yaml"),
        "--method",
        method,
        "--set",
        "steps=60000",
        "--threads",
        "1",
        "--force",
    ] + more


def prepare(t):
    t.wholes = {}
    for method in METHODS:
        for _ in range(2):
            started = time.time()
            r = t.run(train(t, method, ["-o", "whole"]))
            t.check(r.code == 0, r.err)
        t.took = time.time() - started
        t.wholes[method] = series(os.path.join(t.folder, "whole"))
    argv = [
        t.program("sparsebench"),
        "-q",
        SMOKE,
        "--set",
        "steps=20000",
        "--jobs",
        "1",
        "--folder",
        "alone",
        "-o",
        "alone.json",
    ]
    t.check(t.run(argv).code == 0, "sparsebench fails undisturbed")
    t.grid = values(os.path.join(t.folder, "alone.json"))


def values(path):
    """What a grid found, without how long its cells took."""
    with open(path, encoding="utf8") as f:
        results = json.load(f)["results"]
    for r in results:
        r.pop("cells", None)
    return results


STARTING_S = 1  # a program that has just been started has not come to its files yet


def two(t, first, second, delay):
    """Start both; returns the two results and whether they ran at the same time, longer than a start takes."""
    a = t.start(first)
    time.sleep(delay)
    b = t.start(second)
    started, ended = time.time(), None
    while b.poll() is None and time.time() - started < 60:
        if ended is None and a.poll() is not None:
            ended = time.time()
        time.sleep(0.002)
    _, err_b = b.communicate(timeout=60)
    _, err_a = a.communicate(timeout=60)
    together = ended is None or ended - started > STARTING_S
    return (a.returncode, err_a.decode()), (b.returncode, err_b.decode()), together


def case(t):
    if t.rng.random() < 0.2:
        grids(t)
        return
    methods = [t.rng.choice(METHODS), t.rng.choice(METHODS)]
    more = ["-o", "out"]
    if t.rng.random() < 0.4:
        methods[1] = methods[0]
        more += ["--checkpoint-every", "2000", "--resume"]
    a, b, together = two(t, train(t, methods[0], more), train(t, methods[1], more), t.rng.uniform(0.02, t.took))
    what = f"{' and '.join(methods)} {more}: exit {a[0]} and {b[0]}"
    t.check(0 in (a[0], b[0]), f"{what}: neither finished: {a[1][-200:]} {b[1][-200:]}")
    for code, message in (a, b):
        t.check(code in (0, 1) and (code == 0 or message.strip()), f"{what}: {message[-200:]}")
    last = methods[1] if b[0] == 0 else methods[0]
    out = series(os.path.join(t.folder, "out"))
    t.check(
        out == t.wholes[last],
        f"{what}: out is {'mixed' if out not in t.wholes.values() else 'not that of the last one that finished'}",
    )
    left = [f for f in os.listdir(t.folder) if f.startswith("out") and f != "out"]
    t.check(not left, f"{what}: files are left: {left}")
    t.check(not together or a[0] != 0 or b[0] != 0, f"{what}: both ran at once and neither was told")
    t.effect(together, "the first had ended before the second began")


def grids(t):
    """Two sparsebench in one folder."""

    def argv(out):
        return [
            t.program("sparsebench"),
            "-q",
            SMOKE,
            "--set",
            "steps=20000",
            "--jobs",
            "1",
            "--folder",
            "cells",
            "-o",
            out,
            "--force",
        ]

    a, b, together = two(t, argv("first.json"), argv("second.json"), t.rng.uniform(0.05, 0.5))
    t.check(a[0] == 0, f"the first of two sparsebench ends with {a[0]}: {a[1][-300:]}")
    t.check(
        values(os.path.join(t.folder, "first.json")) == t.grid,
        "the first of two sparsebench has other values than one alone",
    )
    t.check(b[0] == 0, f"the second of two sparsebench ends with {b[0]}: {b[1][-300:]}")
    t.check(
        values(os.path.join(t.folder, "second.json")) == t.grid,
        "the second of two sparsebench has other values than one alone",
    )
    t.note("pairs of sparsebench")
    t.effect(together, "the first had ended before the second began")
