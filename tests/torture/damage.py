"""Damaged checkpoints, unfinished series, recordings and caches: --resume refuses, or the bytes are those of an undamaged run."""
# SPDX-License-Identifier: MIT

import os

import kills
import syscalls
from torture import damage, read, series, write

WHAT = "flipped, cut, zeroed and swapped bytes in what a run reads again"

STATES = [
    ("top-k", "logreg.yaml", "Top-k", 50, ["steps=400"], []),
    ("budget", "logreg.yaml", "Budget", 50, ["steps=400"], []),
    ("accordion", "logreg.yaml", "AccordionSum", 50, ["steps=400", "record.layers=true"], []),
    ("recording", "logreg.yaml", "Budget", 50, ["steps=200"], ["--record-inputs", "REC"]),
]
missing = syscalls.missing  # strace stops a run at the same point each time


def prepare(t):
    """The files of a run that was killed as its third checkpoint was to get its name, and the caches of a data set."""
    kills.prepare(t)
    t.states = {}
    for configuration in STATES:
        kills.left_alone(t, configuration)
        syscalls.traced(t, kills.command(t, configuration, "cut"), "rename", "inject=rename:signal=SIGKILL:when=3")
        files = {
            f: read(os.path.join(t.folder, f))
            for f in os.listdir(t.folder)
            if f.startswith("cut") and not f.endswith(".tmp")
        }
        t.check("cut.ckpt" in files and "cut.part" in files, f"{configuration[0]}: the kill left {sorted(files)}")
        t.states[configuration[0]] = files
        for name in os.listdir(t.folder):
            os.unlink(os.path.join(t.folder, name))
    # Caches know the path of what they were made from: all cases run in one place.
    t.place = os.path.join(t.dir, "cached")
    t.derived = os.path.join(t.place, "data", "derived")
    os.makedirs(os.path.dirname(t.derived))
    write(
        os.path.join(t.place, "rows"),
        "".join(
            f"{t.rng.choice('+-')}1 " + " ".join(f"{j}:{t.rng.gauss(0, 1):.4f}" for j in range(1, 9)) + "\n"
            for _ in range(300)
        ),
    )
    r = run_cached(t)
    t.check(r.code == 0, r.err)
    t.caches = {name: read(os.path.join(t.derived, name)) for name in sorted(os.listdir(t.derived))}
    t.undamaged = series(os.path.join(t.place, "out"))
    t.check(len(t.caches) >= 3, f"the caches of a data set are {sorted(t.caches)}")
    made = {name: os.stat(os.path.join(t.derived, name)).st_mtime_ns for name in t.caches}
    run_cached(t)
    for name, when in made.items():
        t.check(
            os.stat(os.path.join(t.derived, name)).st_mtime_ns == when,
            f"{name} is made again by the second run: it is not used",
        )


def run_cached(t):
    """A run on rows of our own with a data folder of its own."""
    return t.run(
        [
            t.program("sparsetrain"),
            "-q",
            os.path.join(kills.RECIPES, "logreg.yaml"),
            "--method",
            "Top-k",
            "--set",
            "steps=100",
            "--set",
            "task.dataset=./rows",
            "--data",
            "data",
            "-o",
            "out",
            "--force",
        ],
        cwd=t.place,
    )


def damaged_cache(t):
    """A cache holds what can be made again, so the run must succeed with the same bytes, or say what is wrong."""
    name = t.rng.choice(sorted(t.caches))
    how, data = damage(t.rng, t.caches[name])
    write(os.path.join(t.folder, name), data)
    for other, whole in t.caches.items():
        write(os.path.join(t.derived, other), data if other == name else whole)
    r = run_cached(t)
    kind = name.split("-")[0]
    t.ended_well(r, f"{kind} cache, {how}")
    t.check(
        r.code != 0 or series(os.path.join(t.place, "out")) == t.undamaged, f"{kind} cache, {how}: other bytes, exit 0"
    )
    t.note(f"{kind} caches")


def case(t):
    if t.rng.random() < 0.25:
        damaged_cache(t)
        return
    configuration = t.rng.choice(STATES)
    files = t.states[configuration[0]]
    target = t.rng.choice(sorted(files))
    how, data = damage(t.rng, files[target])
    for name, whole in files.items():
        write(os.path.join(t.folder, name), data if name == target else whole)
    r = t.run(kills.command(t, configuration, "cut", resume=True))
    what = f"{configuration[0]}: {target}, {how}"
    t.ended_well(r, what)
    t.note(f"{'refused' if r.code else 'resumed'}")
    if r.code == 0:
        kills.same(t, configuration, os.path.join(t.folder, "cut"), os.path.join(t.folder, "cut.rec"), what)
