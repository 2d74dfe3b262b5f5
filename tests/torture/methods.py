"""Random methods from the program's own tables: the same bytes for ranks, after a kill, and in the sanitizer build."""
# SPDX-License-Identifier: MIT

import array
import json
import math
import os
import re
import shutil

import kills
from torture import MPI, ROOT, Failure, series, write

WHAT = "random compressor x parameters x code x rule x controller x scope x encoding x optimizer"
DRAWS = 60  # how many draws of one compressor may be refused


def missing(_):
    return None if shutil.which("cc") or shutil.which("gcc") else "no C compiler"


# ---- the tables ----------------------------------------------------------------------------------------------------


def reference(text):
    """The program's reference of keys: {title: {key: (type, default, range)}}, and the series that every task has."""
    tables, keys, columns, title = {}, {}, {}, ""
    for line in text.splitlines():
        row = re.match(r"\* `([^`]+)` \((.*)\):$", line)
        shared = re.match(r"\* (`.*): as in (.*`)$", line)
        column = re.match(r"\* `([^`]+)`", line)
        if line.startswith("### "):
            title = line[4:]
            keys = tables.setdefault(title, {})
        elif line in ("Its series:", "Its constants:"):
            title = ""
        elif row:
            kind, *facts = row[2].split("; ")
            default = [fact.removeprefix("=") for fact in facts if fact == "required" or fact.startswith("=")]
            keys[row[1]] = kind, (default or [""])[0], " ".join(facts)
        elif shared and title:
            of = tables[shared[2] if " " in shared[2] else title.rsplit(" ", 1)[0] + " " + shared[2]]
            for key, default in re.findall(r"`([^`]+)`(?: \(=([^)]*)\))?", shared[1]):
                if key in of:
                    kind, before, facts = of[key]
                    keys[key] = kind, default or before, facts.replace(f"={before}", f"={default or before}")
        elif column and title == "Series of every task":
            last = column[1]
            columns[last] = True
        elif "(not of task" in line:
            columns[last] = False
    return tables, [name for name in columns if columns[name]]


def prepare(t):
    kills.prepare(t)
    r = t.run([t.program("sparsetrain"), "--help-recipe"])
    t.tables, t.columns = reference(r.out.decode())
    t.library, t.accepted = os.path.join(t.dir, "kill.so"), {name: 0 for name in names(t, "compressor")}
    source = os.path.join(ROOT, "tests", "torture", "kill_behind_rename.c")
    r = t.run([shutil.which("cc") or "gcc", "-O1", "-fPIC", "-shared", "-o", t.library, source, "-ldl"])
    t.check(r.code == 0, f"kill_behind_rename.c does not compile: {r.err}")
    t.check(len(t.accepted) > 1 and len(t.columns) > 1, "the program's reference of keys is not as it was")


def names(t, kind):
    """All compressors, codes …: the titles of their tables."""
    return [title.split("`")[1] for title in t.tables if title.startswith(kind + " `")]


def value(rng, kind, limits):
    """A value of a key; None = its type is no number and no choice of words."""
    words = kind.removesuffix("*").split("|")
    if len(words) > 1:
        return rng.choice(words)
    if not re.match("number|integer", kind):
        return None
    low, high = 0.0, 1e9
    if between := re.search(r"(\S+?)\.\.([^ ,;]+)", limits):
        low, high = float(between[1]), float(between[2])
    elif least := re.search(r"> (\S+)|(\S+)\.\.", limits):
        low = float(least[1] or least[2])
    small, large = max(low, 1e-3), min(high, 100)
    how = rng.random()
    x = math.exp(rng.uniform(math.log(small), math.log(large))) if small < large else high
    x = low if how < 0.1 else high if how < 0.15 else x
    return str(round(x)) if kind.startswith("integer") else f"{x:.4g}"


def section(t, title, first=None):
    """Keys of a table with values; those without a default are drawn more often, and required ones always."""
    drawn = dict(first or {})
    for key, (kind, default, limits) in t.tables[title].items():
        chance = 1 if default == "required" else 0.3 if default else 0.5
        if key not in drawn and t.rng.random() < chance and (x := value(t.rng, kind, limits)) is not None:
            drawn[key] = x
    return drawn


def kind_of(t, kind, key):
    """One of the compressors, codes …, under `key`, with its own keys."""
    name = t.rng.choice(names(t, kind))
    return section(t, f"{kind} `{name}`", {key: name})


def flow(x):
    return "{" + ", ".join(f"{k}: {flow(v)}" for k, v in x.items()) + "}" if isinstance(x, dict) else str(x)


# ---- a recipe --------------------------------------------------------------------------------------------------------

NUMBERS = {
    "normal": lambda r: r.gauss(0, 1),
    "tiny": lambda r: r.gauss(0, 1) * 10 ** r.uniform(-44, -30),
    "huge": lambda r: r.gauss(0, 1) * 10 ** r.uniform(25, 36),
    "of all sizes": lambda r: r.gauss(0, 1) * 10 ** r.uniform(-40, 18),
    "zero": lambda r: 0.0,
    "tied": lambda r: r.choice([-1.0, 1.0, -0.0, 0.0]),
    "sparse": lambda r: r.gauss(0, 1) if r.random() < 0.02 else 0.0,
    "the largest": lambda r: r.choice([-1, 1]) * 3.4028234e38 if r.random() < 0.1 else r.gauss(0, 1),
}


def recorded(t, workers):
    """A task on random gradients in layers of random shapes: (the section, steps)."""
    shapes = [[t.rng.randrange(1, 20) for _ in range(t.rng.randrange(1, 4))] for _ in range(t.rng.randrange(1, 5))]
    d, steps = sum(math.prod(s) for s in shapes), t.rng.randrange(4, 16)
    number = NUMBERS[t.rng.choice(list(NUMBERS) + ["normal"] * 4)]
    data = array.array("f", (number(t.rng) for _ in range(steps * workers * d)))
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': ({steps}, {workers}, {d}), }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    write(
        os.path.join(t.folder, "g.npy"),
        b"\x93NUMPY\1\0" + len(head).to_bytes(2, "little") + head.encode() + data.tobytes(),
    )
    layers = ",".join("x".join(map(str, s)) for s in shapes)
    return {
        "kind": "recorded",
        "files": "g.npy",
        "layers": f'"{layers}"',
        "steps-per-epoch": t.rng.randrange(1, 6),
    }, steps


def draw(t, compressor):
    """A random recipe of one cell, in r.yaml: (workers, steps)."""
    rng, workers, steps = t.rng, t.rng.choice([1, 2, 3, 4, 5, 7]), t.rng.choice([12, 30, 75])
    task, rate = "{kind: logreg, dataset: two-clouds, stand-in: two-clouds, l2: L/100}", "0.1/(L+l2)"
    if rng.random() < 0.6:
        task, steps = recorded(t, workers)
        rate = rng.choice(["0.1", "1", "1e-6", "100"])
    method = section(t, f"compressor `{compressor}`", {"name": "M", "compressor": compressor})
    if rng.random() < 0.35:
        method["controller"] = kind_of(t, "controller", "kind")
    if rng.random() < 0.35:
        method["values"] = kind_of(t, "code", "code")
    rule = section(t, "`error-feedback`", kind_of(t, "error-feedback form", "form"))
    optimizer = kind_of(t, "optimizer", "kind")
    message = section(t, "`message`")
    if "values" in method:
        message.pop("values", None)
    record = {"every": rng.choice([1, 1, 3]), "layers": rng.choice(["true", "false"]), "series": f"[{', '.join(t.columns)}]"}
    write(
        os.path.join(t.folder, "r.yaml"),
        f"schema: 1\nname: drawn\ntask: {flow(task)}\nworkers: {workers}\nsteps: {steps}\n"
        f"optimizer: {flow(optimizer | {'learning-rate': rate})}\nerror-feedback: {flow(rule)}\n"
        f"scope: {rng.choice(['layer', 'model'])}\nmessage: {flow(message or 'raw')}\nrecord: {flow(record)}\n"
        f"methods:\n  - {flow(method)}\n",
    )
    return workers, steps


def accepted(t):
    """Draws until a recipe runs to its end, into `whole`: (command line, workers, steps)."""
    compressor = t.rng.choice(list(t.accepted))
    argv = [t.program("sparsetrain"), "-q", "r.yaml", "--force", "--threads", "1"]
    for _ in range(DRAWS):
        t.trail.clear()
        workers, steps = draw(t, compressor)
        r = t.run(argv + ["-o", "whole"])
        t.ended_well(r, compressor)
        t.check(r.code in (0, 1, 2), f"{compressor}: exit {r.code}: {r.err[-300:]}")
        if r.code == 0:
            t.accepted[compressor] += 1
            return argv, workers, steps
        t.note("refused" if r.code == 2 else "failed with a message")
    t.effect(False, f"{compressor}: none of {DRAWS} draws was accepted")
    return None


# ---- a case ----------------------------------------------------------------------------------------------------------


def refuse(number):
    raise Failure(f"a number is {number}")


def compare(t, name, what, first=0):
    """The file `name` has the bytes of `whole`, from this line on."""
    one, other = (series(os.path.join(t.folder, f)).split(b"\n")[first:] for f in ("whole", name))
    t.check(one == other, f"{what}: other bytes")


def same(t, argv, name, what, first=0):
    """Run again, into `name`: the same bytes."""
    r = t.run(argv + ["-o", name], timeout=120)
    t.check(r.code == 0, f"{what}: exit {r.code}: {r.err[-700:]}")
    compare(t, name, what, first)


def cut(t, argv, steps):
    """Kill the run behind one of its checkpoints, in `cut`; returns the words that make it go on."""
    every = t.rng.randrange(1, max(2, steps // 2))
    at = t.rng.randrange(1, (steps - 1) // every + 1)
    more = ["--checkpoint-every", str(every)]
    r = t.run(argv + ["-o", "cut"] + more, env={"LD_PRELOAD": t.library, "DIE_AT": str(at)})
    there = os.path.exists(os.path.join(t.folder, "cut.ckpt"))
    t.check(r.code == -9 and there, f"not killed behind checkpoint {at} of {every} steps: exit {r.code}: {r.err[-300:]}")
    return more + ["--resume"]


def case(t):
    argv, workers, steps = accepted(t)
    with open(os.path.join(t.folder, "whole"), encoding="utf8") as f:
        lines = [json.loads(line, parse_constant=refuse) for line in f]
    t.check(lines[-1]["status"] == "ok", f"exit 0 with status {lines[-1]['status']}")
    ranks = MPI + ["-n", str(min(3, workers))] if t.mpi else []
    same(t, ranks + argv, "ranks", "over ranks")
    same(t, (ranks if t.rng.random() < 0.3 else []) + argv + cut(t, argv, steps), "cut", "killed and resumed")
    left = set(os.listdir(t.folder)) - {"whole", "ranks", "cut", "r.yaml", "g.npy"}
    t.check(not left, f"files are left: {' '.join(left)}")
    if os.path.exists(t.program("sparsetrain", True)):
        same(t, [t.program("sparsetrain", True)] + argv[1:], "sanitized", "the sanitizer build", first=1)
        t.note("in the sanitizer build")


def conclude(t):
    t.count["compressors"] = sum(n > 0 for n in t.accepted.values())
    if t.tried >= 5 * len(t.accepted) and t.count["compressors"] < 0.9 * len(t.accepted):
        raise Failure(f"never accepted: {', '.join(name for name, n in t.accepted.items() if n == 0)}")
