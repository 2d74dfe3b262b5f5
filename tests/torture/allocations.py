"""The n-th allocation of a program fails: it says so and fails, or its output is whole. It never crashes and never loses keys."""
# SPDX-License-Identifier: MIT

import os
import re
import shutil

from torture import RECIPES, ROOT, SMOKE, read, series

WHAT = "the n-th allocation fails"


def missing(_):
    return None if shutil.which("cc") or shutil.which("gcc") else "no C compiler"


def prepare(t):
    t.library = os.path.join(t.dir, "fail_allocation.so")
    source = os.path.join(ROOT, "tests", "torture", "fail_allocation.c")
    r = t.run([shutil.which("cc") or "gcc", "-O1", "-fPIC", "-shared", "-o", t.library, source])
    t.check(r.code == 0, f"fail_allocation.c does not compile: {r.err}")
    t.result = os.path.join(t.dir, "smoke.json")
    r = t.run(
        [t.program("sparsebench"), "-q", SMOKE, "--set", "steps=40", "--folder", "cells", "-o", t.result, "--force"]
    )
    t.check(r.code == 0, r.err)
    logreg = os.path.join(RECIPES, "logreg.yaml")
    train = [t.program("sparsetrain"), "-q", SMOKE, "--set", "steps=40", "--threads", "1"]
    t.programs = {
        "sparsetrain": train
        + ["--method", "Top-k k=4", "--set", "record.layers=true", "--checkpoint-every", "10", "-o", "out", "--force"],
        "sparsetrain --json": train + ["--method", "Hard-threshold", "--json"],
        "sparsetrain, budget": [train[0], "-q", logreg, "--set", "steps=40", "--method", "Budget", "--threads", "1"],
        "sparsebench --dry-run": [t.program("sparsebench"), SMOKE, "--dry-run", "--json", "--folder", "none"],
    }
    for form in ("csv", "latex", "pgfplots", "pgfplots-axis", "markdown", "table", "html"):
        t.programs[f"sparseplot-export {form}"] = [t.program("sparseplot-export"), t.result, f"--format={form}"]
    t.whole, t.total = {}, {}
    for name, argv in t.programs.items():
        counted = os.path.join(t.folder, "counted")
        t.run(argv)  # data and optima are made by the first run
        r = t.run(argv, env={"LD_PRELOAD": t.library, "FAIL_COUNT": counted})
        t.check(r.code == 0, f"{name}: fails undisturbed: {r.err[-300:]}")
        t.whole[name], t.total[name] = output(t, argv, r), int(read(counted))


def output(t, argv, result):
    """What must be the same: the file or the standard output, without what belongs to one run."""
    path = os.path.join(t.folder, "out")
    if "-o" not in argv:
        with open(path, "wb") as f:
            f.write(result.out)
    data = series(path)
    os.unlink(path)
    return re.sub(rb'"(started_at|elapsed_s|setup_s|argv)":[^,}]*', b"", data)


def case(t):
    name = t.rng.choice(sorted(t.programs))
    argv = t.programs[name]
    at = t.rng.randrange(1, t.total[name] + 1)
    mark = os.path.join(t.folder, "mark")
    r = t.run(argv, env={"LD_PRELOAD": t.library, "FAIL_AT": str(at), "FAIL_MARK": mark})
    what = f"{name}, allocation {at} of {t.total[name]}"
    t.ended_well(r, what)
    if r.code == 0:
        t.check(output(t, argv, r) == t.whole[name], f"{what}: exit 0 with other output")
    t.effect(os.path.exists(mark), "there was no such allocation")
    t.note("refused" if r.code else "whole in spite of it")
