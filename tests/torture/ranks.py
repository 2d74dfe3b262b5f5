"""The same bytes for any number of ranks and threads, under every encoding, precision and method."""
# SPDX-License-Identifier: MIT

import json
import os

import kills
from torture import MPI, RECIPES, series

WHAT = "ranks x threads x encodings x methods"

METHODS = ["SGD", "Top-k", "Hard-threshold", "Accordion", "AccordionSum", "Budget", "Random", "Unbiased"]
ENCODINGS = ["raw", "bitmap", "delta-varint", "rice", "elias-fano", "auto"]


def missing(t):
    kills.prepare(t)
    return None if t.mpi else "built without MPI, or mpirun is not installed"


def case(t):
    """One configuration under one rank and thread, and under two other numbers of them."""
    network = t.configurations != kills.CONFIGURATIONS and t.rng.random() < 0.25
    task = t.rng.choice(["cnn", "lm", "gpt", "ncf"]) if network else "logreg"
    method = t.rng.choice([m for m in METHODS if task == "logreg" or m not in ("AccordionSum", "Unbiased")])
    workers = t.rng.randrange(2, 6 if network else 12)
    changes = [
        f"workers={workers}",
        "epochs=null",
        "steps=5" if network else "steps=25",
        "record.every=1",
        f"message={{encoding: {t.rng.choice(ENCODINGS)}, values: {t.rng.choice(['fp32', 'fp16'])}}}",
    ]
    if network:
        changes.append("batch=2")
    argv = [t.program("sparsetrain"), "-q", os.path.join(RECIPES, task + ".yaml"), "--method", method, "--force"]
    for change in changes:
        argv += ["--set", change]
    what, want = f"{task} {method} {changes}", None
    for ranks, threads in [(1, 1)] + [
        (t.rng.randrange(1, min(workers, 8) + 1), t.rng.choice([1, 2])) for _ in range(2)
    ]:
        r = t.run(
            (MPI + ["-n", str(ranks)] if ranks > 1 else []) + argv + ["-o", "out", "--threads", str(threads)],
            timeout=120,
        )
        t.check(r.code == 0, f"{what} under {ranks} ranks, {threads} threads: exit {r.code}: {r.err[-300:]}")
        path = os.path.join(t.folder, "out")
        with open(path, encoding="utf8") as f:
            run = [json.loads(line) for line in f if line.startswith('{"record":"run"')]
        t.check(len(run) == 1 and run[0]["ranks"] == ranks, f"{what}: asked for {ranks} ranks, got {run}")
        want = want or series(path)
        t.check(series(path) == want, f"{what}: {ranks} ranks and {threads} threads give other bytes than one")
        t.note(f"runs of {task}")
