"""Little memory, few descriptors, full disks, closed streams: a message and a failure, or a whole result; never a mixture."""
# SPDX-License-Identifier: MIT

import json
import os
import resource
import shutil
import subprocess

from torture import SMOKE, read, series

WHAT = "limits of memory, stack, descriptors and space; closed streams"


def prepare(t):
    mount = os.geteuid() == 0 and shutil.which("mount")
    t.tmpfs = mount and t.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", t.folder]).code == 0
    if t.tmpfs:
        t.run(["umount", t.folder], cwd=t.dir)
    for name in ("train", "bench", "export"):
        r = t.run(command(t, name))
        t.check(r.code == 0, f"{name} fails undisturbed: {r.err[-300:]}")
        t.memory[name] = (
            series(os.path.join(t.folder, "out")) if name == "train" else read(os.path.join(t.folder, "out"))
        )
    t.result = os.path.join(t.dir, "smoke.json")
    os.rename(os.path.join(t.folder, "smoke.json"), t.result)


def command(t, name):
    if name == "train":
        return [
            t.program("sparsetrain"),
            "-q",
            SMOKE,
            "--method",
            "Top-k k=4",
            "--set",
            "steps=400",
            "--set",
            "record.every=1",
            "--checkpoint-every",
            "100",
            "-o",
            "out",
            "--force",
        ]
    if name == "bench":
        return [
            t.program("sparsebench"),
            "-q",
            SMOKE,
            "--set",
            "steps=40",
            "--jobs",
            "2",
            "--folder",
            "cells",
            "-o",
            "smoke.json",
            "--force",
        ]
    return [
        t.program("sparseplot-export"),
        getattr(t, "result", "smoke.json"),
        "--format=pgfplots",
        "-o",
        "out",
        "--force",
    ]


def limited(t, name):
    """A resource limit. Very small ones stop a program before it begins; that is then said by the shell or the loader."""
    what, low, high = t.rng.choice(
        [("AS", 20_000_000, 400_000_000), ("STACK", 262_144, 1_048_576), ("NOFILE", 4, 24), ("FSIZE", 0, 65_536)]
    )
    value = t.rng.randrange(low, high)
    r = t.run(command(t, name), limits={getattr(resource, "RLIMIT_" + what): value})
    if r.code in (-25, 128 + 25):  # SIGXFSZ is what the user's shell shows for a file that may not grow
        return r, f"{name} with {what} {value}"
    t.ended_well(r, f"{name} with {what} {value}")
    return r, f"{name} with {what} {value}"


def closed(t, name):
    """Standard streams that are closed: what is opened next must not be taken for one of them."""
    descriptors = t.rng.choice([[2], [2], [2], [1], [0], [0, 2], [1, 2], [0, 1], [0, 1, 2]])
    argv = [a if a != "-q" else "-v" for a in command(t, name)] + (
        ["-v"] if name == "export" else []
    )  # there are messages to go astray
    r = t.run(argv, close=descriptors)
    t.check(not r.crashed and r.code is not None, f"{name} with {descriptors} closed: exit {r.code}")
    return r, f"{name} with {descriptors} closed"


def full(t, name):
    """Standard output on a full device."""
    with open("/dev/full", "wb") as device:
        argv = [a for a in command(t, name) if a not in ("-o", "out", "--force")]
        argv = [a for a in argv if a not in ("smoke.json",) or name != "bench"]
        argv = argv[: argv.index("--checkpoint-every")] if name == "train" else argv
        r = t.run(argv, out=device.fileno())
    t.ended_well(r, f"{name} into /dev/full")
    t.check(r.code == 1, f"{name} into /dev/full: exit {r.code}")
    t.check(b"No space left" in r.err.encode(), f"{name} into /dev/full says: {r.err[-200:]}")
    return None, None


def small_disk(t, name):
    """A disk that runs full, or out of inodes, or may only be read."""
    option = t.rng.choice(["size=64k", "size=16k", "size=1m,nr_inodes=3", "size=1m,ro"])
    place = os.path.join(t.folder, "disk")
    os.makedirs(place)
    t.check(subprocess.call(["mount", "-t", "tmpfs", "-o", option, "tmpfs", place]) == 0, "mount fails")
    try:
        argv = [
            ("disk/" + a) if a in ("out", "cells") or (a == "smoke.json" and name == "bench") else a
            for a in command(t, name)
        ]
        r = t.run(argv)
        t.ended_well(r, f"{name} on a disk of {option}")
        out = os.path.join(place, "out")
        if name == "train" and r.code == 0:
            t.check(series(out) == t.memory[name], f"{name} on a disk of {option}: exit 0 with another series")
        t.check(
            r.code == 0 or not os.path.exists(out),
            f"{name} on a disk of {option}: exit {r.code}, but there is a result",
        )
    finally:
        subprocess.call(["umount", place])
    t.effect(r.code != 0, f"{option} was enough")
    return None, None


def case(t):
    name = t.rng.choice(["train", "bench", "export"])
    kind = t.rng.choice([limited, limited, closed, full] + ([small_disk] if t.tmpfs else []))
    r, what = kind(t, name)
    t.note(kind.__name__.replace("_", " "))
    if r is None:
        return
    out = os.path.join(t.folder, "smoke.json" if name == "bench" else "out")
    there = os.path.exists(out)
    if name == "bench" and there:  # a grid with cells that failed has a result that says so
        t.check(read(out).startswith(b"{"), f"{what}: exit {r.code}, and the result begins with {read(out)[:60]!r}")
        status = json.loads(read(out))["status"]
        t.check((r.code == 0) == (status == "ok"), f"{what}: exit {r.code}, and the result's status is {status}")
        return
    t.check((r.code == 0) == there, f"{what}: exit {r.code}, result {'there' if there else 'missing'}")
    if there:
        same = (series(out) if name == "train" else read(out)) == t.memory[name]
        t.check(same, f"{what}: exit 0 with another result")
