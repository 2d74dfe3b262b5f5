"""Real files with bytes changed, through programs built with sanitizers: recipes, results, series, recordings, data, caches, cells."""
# SPDX-License-Identifier: MIT

import hashlib
import os
import re
import shutil

import hostile
from torture import RECIPES, ROOT, SMOKE, Failure, read, write

WHAT = "mutated recipes, results, recordings, data, caches and cells (sanitizer build)"
missing = hostile.missing

PIECES = [
    b"\0",
    b"\xff\xfe",
    b"1e999",
    b"-1",
    b"99999999999999999999",
    b"\n\n",
    b"[[[[",
    b'{"',
    b"\xc0\x80",
    b"nan",
    b'"',
    b"\\u0000",
    b":",
    b"null",
    b"9" * 400,
    b",,,",
]
NUMBERS = [b"0", b"-1", b"4294967296", b"1e308", b"18446744073709551616", b"0.5", b"2"]
FORMATS = ["csv", "table", "latex", "markdown", "pgfplots", "pgfplots-axis", "html"]


def mutated(rng, data):
    """`data` with one to four changes; never the same."""
    new = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        new = new or bytearray(b"x")
        kind, at = rng.randrange(8), rng.randrange(len(new))
        if kind == 0:
            new[at] ^= 1 << rng.randrange(8)
        elif kind == 1:
            del new[at : at + rng.randrange(1, 50)]
        elif kind == 2:
            new[at:at] = rng.choice(PIECES)
        elif kind == 3:
            del new[at:]
        elif kind == 4:
            other = rng.randrange(len(new))
            new[at:at] = new[other : other + rng.randrange(1, 200)]
        elif kind == 5:
            new[at] = rng.randrange(256)
        elif kind == 6:
            new[at : at + 8] = rng.randbytes(8)
        else:
            near = max(0, at - 200)
            found = list(re.finditer(rb"\d+", bytes(new[near : at + 200])))
            if found:
                m = rng.choice(found)
                new[near + m.start() : near + m.end()] = rng.choice(NUMBERS)
    return bytes(new) if new != data else mutated(rng, data)


def sparsetrain(t, *argv):
    return [t.program("sparsetrain", True), "-q", *argv]


def prepare(t):
    """The good files, made by the programs themselves, and data sets of every format described in a folder of our own."""
    train = [t.program("sparsetrain"), "-q", SMOKE, "--set", "steps=40"]
    for argv in (
        [t.program("sparsebench"), "-q", SMOKE, "--set", "steps=40", "--folder", "cells", "-o", "result.json"],
        train + ["--method", "SGD", "--set", "record.layers=true", "-o", "run.ndjson"],
        train + ["--method", "Hard-threshold", "--set", "steps=20", "--record-inputs", "inputs", "-o", "other"],
    ):
        r = t.run(argv, cwd=t.dir)
        t.check(r.code == 0, r.err)
    t.good = {name: read(os.path.join(t.dir, name)) for name in ("result.json", "run.ndjson", "inputs")}
    t.cells = {
        name: read(os.path.join(t.dir, "cells", name))
        for name in sorted(os.listdir(os.path.join(t.dir, "cells")))
        if name.endswith(".ndjson")
    }
    t.check(len(t.cells) == 8, f"there are {len(t.cells)} cells")
    t.recipe = [
        read(os.path.join(ROOT, "recipes", name))
        for name in ("smoke.yaml", "fig1.yaml", "budget.yaml", "heterogeneity.yaml", "kernels.yaml")
    ]
    t.rows = "".join(
        f"{t.rng.choice('+-')}1 " + " ".join(f"{j}:{t.rng.gauss(0, 1):.4f}" for j in range(1, 9)) + "\n"
        for _ in range(60)
    ).encode()
    ratings = "".join(
        f"{u}\t{i}\t{t.rng.randrange(1, 6)}\t{880000000 + t.rng.randrange(10**7)}\n"
        for u in range(1, 41)
        for i in t.rng.sample(range(1, 101), 25)
    )
    words = " ".join(
        t.rng.choice(["the", "of", "gradient", "error", "<unk>", "sum", "and", "k"]) + t.rng.choice(["", " .", "\n"])
        for _ in range(4000)
    )
    # Image files have a fixed size of 30 MB: tests/fuzz/fuzz_cifar.c reads small ones.
    t.sets = {
        "ratings": ("ncf.yaml", "ml-100k-own", "u.data", "movielens", ratings.encode()),
        "text": ("lm.yaml", "own-text", "valid.txt", "tokens", words.encode()),
    }
    write(os.path.join(t.folder, "inputs"), t.good["inputs"])
    r = t.run([t.program("sparsetune", True), "-q", SMOKE, "--set", "steps=20", "--oracle", "inputs"])
    t.check(r.code == 0, f"the recording is refused as it is: {r.err}")
    t.torch = os.path.exists(os.path.join(t.asan, "..", "lib", "sparsegrad", "tasks-torch.so"))
    t.accepted = {}
    for kind in t.sets if t.torch else []:  # unchanged, they are read and trained on
        ((argv, _),) = dataset(t, kind, lambda _, data: data)
        r = t.run(argv, env=descriptions(t))
        t.check(r.code == 0, f"the set of {kind} is refused as it is: {r.err[-400:]}")


def descriptions(t):
    return {"SPARSE_DATASETS": os.path.join(t.folder, "descriptions")}


def recipe(t):
    return [
        ([t.program("sparsebench", True), "-", "--dry-run"], mutated(t.rng, t.rng.choice(t.recipe))),
        (sparsetrain(t, "-", "--set", "steps=3", "--method", "SGD", "--seed", "1"), mutated(t.rng, t.recipe[0])),
    ]


def result(t):
    return [
        (
            [t.program("sparseplot-export", True), "-", f"--format={t.rng.choice(FORMATS)}"],
            mutated(t.rng, t.good["result.json"]),
        )
    ]


def run_series(t):
    return [
        (
            [
                t.program("sparseplot-export", True),
                "-",
                f"--format={t.rng.choice(FORMATS)}",
                "--x=epoch",
                "--y=suboptimality",
            ],
            mutated(t.rng, t.good["run.ndjson"]),
        )
    ]


def rows(t):
    write(os.path.join(t.folder, "rows"), mutated(t.rng, t.rows))
    return [
        (
            sparsetrain(
                t,
                SMOKE,
                "--method",
                "SGD",
                "--set",
                "steps=2",
                "--set",
                "task.dataset=./rows",
                "--set",
                "task.solve-optimum=false",
                "--set",
                "task.start=null",
                "--set",
                "record.series=[loss]",
                "--data",
                ".",
            ),
            None,
        )
    ]


def recording(t):
    """Most get the checksum of what they became, so that it does not stop them before the reader."""
    data = mutated(t.rng, t.good["inputs"])
    if t.rng.random() < 0.8:
        data = data[:-64] + hashlib.sha256(data[:-64]).hexdigest().encode()
    write(os.path.join(t.folder, "inputs"), data)
    return [([t.program("sparsetune", True), "-q", SMOKE, "--set", "steps=20", "--oracle", "inputs"], None)]


def cell(t):
    os.makedirs(os.path.join(t.folder, "cells"))
    name = t.rng.choice(sorted(t.cells))
    for other, whole in t.cells.items():
        write(os.path.join(t.folder, "cells", other), mutated(t.rng, whole) if other == name else whole)
    return [
        ([t.program("sparsebench", True), "-q", SMOKE, "--set", "steps=40", "--folder", "cells", "--dry-run"], None)
    ]


def dataset(t, kind=None, change=mutated):
    """A changed file of a set that a description of our own names, so that no checksum stops it before the reader."""
    kind = kind or t.rng.choice(sorted(t.sets))
    recipe_name, name, file, form, data = t.sets[kind]
    for folder in (name, "descriptions"):
        shutil.rmtree(os.path.join(t.folder, folder), ignore_errors=True)
        os.makedirs(os.path.join(t.folder, folder))
    files = {file: change(t.rng, data)}
    if kind == "text":
        files["test.txt"] = data
    for other, content in files.items():
        write(os.path.join(t.folder, name, other), content)
    listed = "".join(
        f"  - name: {other}\n    url: https://example.org/{other}\n    sha256: trust-on-first-use\n"
        for other in sorted(files)
    )
    write(
        os.path.join(t.folder, "descriptions", name + ".yaml"),
        f"name: {name}\ntitle: Own\ntask: own\nformat: {form}\norigin: own\nlicence: none\nfiles:\n{listed}",
    )
    argv = [
        os.path.join(RECIPES, recipe_name),
        "--method",
        "SGD",
        "--set",
        f"task.dataset={name}",
        "--set",
        "task.stand-in=null",
        "--set",
        "epochs=null",
        "--set",
        "steps=1",
        "--data",
        ".",
    ]
    return [(sparsetrain(t, *argv, *(["--set", "task.users=0"] if kind == "ratings" else [])), None)]


KINDS = [recipe, recipe, result, run_series, rows, recording, cell]


def case(t):
    kind = t.rng.choice(KINDS + ([dataset] if t.torch else []))
    what = kind.__name__.replace("_", " ")
    for argv, given in kind(t):
        r = t.run(argv, given=given, env=descriptions(t) if kind == dataset else None)
        t.ended_well(r, f"{what}: {os.path.basename(argv[0])}", sanitized=True)
        t.check(r.code in (0, 1, 2, 3), f"{what}: exit {r.code}")
        t.accepted.setdefault(what, []).append(r.code == 0)
        t.note("refused" if r.code else "accepted")


def conclude(t):
    """A kind of which every case was refused did not get past the door."""
    for what, accepted in t.accepted.items():
        if len(accepted) >= 20 and not any(accepted):
            raise Failure(f"{what}: all of {len(accepted)} were refused, so the readers behind were not tried")
