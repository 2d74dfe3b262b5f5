"""Runs that are killed at random moments, up to three times, and resumed under other threads and ranks: the same bytes."""
# SPDX-License-Identifier: MIT

import os
import shutil
import signal
import time

from torture import MPI, RECIPES, Failure, read, series

WHAT = "signals at random moments, then --resume"

LOGREG = "logreg.yaml"
STEPS = ["steps=100000", "record.every=50"]
# Name, recipe, method, steps from one checkpoint to the next, changes, more arguments.
CONFIGURATIONS = [
    ("sgd", LOGREG, "SGD", 3000, STEPS, []),
    ("top-k", LOGREG, "Top-k", 3000, STEPS, []),
    ("top-k, checkpoint every 7 steps", LOGREG, "Top-k", 7, ["steps=1500"], []),
    (
        "momentum in the gradient form",
        LOGREG,
        "Hard-threshold",
        3000,
        STEPS
        + [
            "error-feedback=gradient",
            "optimizer.momentum=0.9",
            "optimizer.nesterov=1",
            "methods.Hard-threshold.lambda=0.05",
        ],
        [],
    ),
    ("accordion with layers", LOGREG, "Accordion", 3000, STEPS + ["record.layers=true"], []),
    ("accordion that accumulates", LOGREG, "AccordionSum", 1130, STEPS, []),
    ("budget", LOGREG, "Budget", 3000, STEPS, []),
    ("budget over the model", LOGREG, "Budget", 2110, STEPS + ["scope=model"], []),
    ("random", LOGREG, "Random", 3000, STEPS, []),
    ("unbiased", LOGREG, "Unbiased", 3000, STEPS, []),
    (
        "adam in fp16",
        LOGREG,
        "Top-k",
        3000,
        STEPS
        + [
            "error-feedback=gradient",
            "optimizer={kind: adam, learning-rate: 0.001}",
            "message={encoding: auto, values: fp16}",
        ],
        [],
    ),
    ("dense fp16", LOGREG, "SGD", 3000, STEPS + ["message={values: fp16}"], []),
    (
        "decay and dirichlet shards",
        LOGREG,
        "Top-k",
        3000,
        STEPS + ["error-feedback={form: update, decay: 0.9}", "task.shards={kind: dirichlet, alpha: 0.1}", "batch=3"],
        [],
    ),
    ("json", LOGREG, "Budget", 3000, STEPS, ["--json"]),
    ("recording", LOGREG, "Budget", 100, ["steps=3000"], ["--record-inputs", "REC"]),
] + [
    (e, LOGREG, "Hard-threshold", 3000, STEPS + [f"message={{encoding: {e}, values: fp16}}"], [])
    for e in ("bitmap", "delta-varint", "rice", "elias-fano")
]
NETWORKS = [
    (f"{task} {m}", f"{task}.yaml", m, every, [], [])
    for task, every in (("cnn", 4), ("lm", 9), ("gpt", 4), ("ncf", 6))
    for m in ("SGD", "Top-k", "Hard-threshold", "Accordion", "Budget", "Random")
] + [
    (
        "cnn adam",
        "cnn.yaml",
        "Top-k",
        3,
        [
            "error-feedback=gradient",
            "optimizer={kind: adam, learning-rate: 0.001}",
            "message={encoding: auto, values: fp16}",
        ],
        [],
    ),
    (
        "ncf budget over the model",
        "ncf.yaml",
        "Budget",
        5,
        ["scope=model", "message={encoding: elias-fano, values: fp16}"],
        [],
    ),
]


def command(t, configuration, name, resume=False, ranks=1, threads=1):
    _, recipe, method, every, changes, more = configuration
    argv = [t.program("sparsetrain"), "-q", os.path.join(RECIPES, recipe), "--method", method]
    for change in changes:
        argv += ["--set", change]
    argv += ["--checkpoint-every", str(every), "-o", name, "--force", "--threads", str(threads)]
    argv += [a.replace("REC", name + ".rec") for a in more] + (["--resume"] if resume else [])
    return (MPI + ["-n", str(ranks)] if ranks > 1 else []) + argv


def prepare(t):
    version = t.run([t.program("sparsetrain"), "--version"]).out
    t.mpi = b"mpi on" in version.lower() and shutil.which("mpirun")
    torch = os.path.join(t.bin, "..", "lib", "sparsegrad", "tasks-torch.so")
    t.configurations = CONFIGURATIONS + (NETWORKS if os.path.exists(torch) else [])


def left_alone(t, configuration):
    """What the configuration writes when nothing disturbs it: (seconds, series, recording)."""
    if configuration[0] not in t.memory:
        for _ in range(2):  # data and optima are made by the first run: the second one's time counts
            started = time.time()
            r = t.run(command(t, configuration, "whole"))
            t.check(r.code == 0, f"{configuration[0]}: fails undisturbed: {r.err[-400:]}")
        recording = os.path.join(t.folder, "whole.rec")
        t.memory[configuration[0]] = (
            time.time() - started,
            series(os.path.join(t.folder, "whole")),
            read(recording) if os.path.exists(recording) else None,
        )
        for name in os.listdir(t.folder):
            os.unlink(os.path.join(t.folder, name))
    return t.memory[configuration[0]]


def same(t, configuration, cut, recording, what, tidy=True):
    """The resumed run's files are those of the run left alone, and (tidy) nothing else is left."""
    _, want, want_recording = left_alone(t, configuration)
    t.check(series(cut) == want, f"{what}: other bytes than the run left alone")
    t.check(
        want_recording is None or read(recording) == want_recording,
        f"{what}: another recording than the run left alone",
    )
    kept = {os.path.basename(cut), os.path.basename(recording), "commands", "input", "trace"}
    left = [f for f in os.listdir(t.folder) if f not in kept]
    t.check(not left or not tidy, f"{what}: files are left: {' '.join(left)}")


def case(t):
    configuration = t.rng.choice(t.configurations)
    took = left_alone(t, configuration)[0]
    cut, history, there = os.path.join(t.folder, "cut"), [], 0
    for start in range(t.rng.choice([1, 1, 1, 2, 3])):
        sig = t.rng.choice([signal.SIGKILL] * 8 + [signal.SIGTERM, signal.SIGINT])
        process = t.start(command(t, configuration, "cut", resume=start > 0, threads=t.rng.choice([1, 1, 2])))
        time.sleep(t.rng.uniform(0, took))
        alive = t.end(process, sig)
        there += alive
        history.append(f"signal {int(sig)}: {'ended by it' if alive else 'had ended'}, exit {process.returncode}")
        t.check(process.returncode in (0, -sig, 128 + sig), f"{configuration[0]}: {'; '.join(history)}")
    if os.path.exists(cut + ".ckpt"):
        t.note("from a checkpoint")
    ranks = t.rng.choice([1, 1, 1, 1, 2]) if t.mpi and not configuration[5] else 1
    r = t.run(command(t, configuration, "cut", True, ranks, t.rng.choice([1, 2])), timeout=120)
    what = f"{configuration[0]} ({'; '.join(history)}; resumed under {ranks} ranks)"
    t.check(r.code == 0, f"{what}: --resume fails with {r.code}: {r.err[-400:]}")
    same(t, configuration, cut, cut + ".rec", what)
    t.effect(there, "every run had ended before its signal")


def conclude(t):
    if t.tried >= 10 and t.count.get("from a checkpoint", 0) == 0:
        raise Failure("no case resumed from a checkpoint")
