"""A run is killed at a chosen system call, or one of its system calls fails; then it is resumed: the same bytes."""
# SPDX-License-Identifier: MIT

import os
import re
import shutil

import kills

WHAT = "a kill, or an error, at a chosen system call, then --resume"

SIZES = [
    ("series", "logreg.yaml", "Top-k", 40, ["steps=200"], []),
    ("json", "logreg.yaml", "Budget", 40, ["steps=200"], ["--json"]),
    ("recording", "logreg.yaml", "Budget", 40, ["steps=120"], ["--record-inputs", "REC"]),
]
KILLED = ["openat", "write", "fsync", "rename", "unlink", "ftruncate", "lseek", "close"]
ERRORS = {
    "openat": ["EMFILE", "ENOSPC", "EACCES"],
    "write": ["ENOSPC", "EIO"],
    "fsync": ["EIO"],
    "rename": ["EXDEV"],
    "unlink": ["EPERM"],
    "ftruncate": ["EIO"],
    "lseek": ["ESPIPE"],
    "mmap": ["ENOMEM"],
    "read": ["EIO"],
    "newfstatat": ["EACCES"],
}


def missing(t):
    if not shutil.which("strace"):
        return "strace is not installed (apt-get install strace)"
    r = t.run(["strace", "-o", os.path.join(t.folder, "trace"), "true"])
    return None if r.code == 0 else f"strace may not trace here: {r.err.strip()}"


def traced(t, argv, calls, inject=None):
    """Run under strace; returns (result, the lines of the trace)."""
    trace = os.path.join(t.folder, "trace")
    r = t.run(["strace", "-f", "-qq", "-o", trace, "-e", f"trace={calls}"] + (["-e", inject] if inject else []) + argv)
    with open(trace, encoding="utf8", errors="replace") as f:
        return r, f.read().splitlines()


def prepare(t):
    """Every configuration once: how many calls of each kind it makes."""
    kills.prepare(t)
    t.calls = {}
    for configuration in SIZES:
        kills.left_alone(t, configuration)
        names = sorted(set(KILLED) | set(ERRORS))
        r, lines = traced(t, kills.command(t, configuration, "counted"), ",".join(names))
        t.check(r.code == 0, f"{configuration[0]}: fails under strace: {r.err[-300:]}")
        t.calls[configuration[0]] = {s: sum(1 for line in lines if re.search(rf"\b{s}\(", line)) for s in names}
        for name in os.listdir(t.folder):
            os.unlink(os.path.join(t.folder, name))


def case(t):
    configuration = t.rng.choice(SIZES)
    kill = t.rng.random() < 0.4
    counts = t.calls[configuration[0]]
    call = t.rng.choice([s for s in (KILLED if kill else sorted(ERRORS)) if counts[s]])
    at = t.rng.randrange(1, counts[call] + 1)
    how = "signal=SIGKILL" if kill else "error=" + t.rng.choice(ERRORS[call])
    what = f"{configuration[0]}: {call} number {at}, {how}"
    cut = os.path.join(t.folder, "cut")
    r, lines = traced(t, kills.command(t, configuration, "cut"), call, f"inject={call}:{how}:when={at}")
    happened = any("SIGKILL" in line if kill else "(INJECTED)" in line for line in lines)
    if not kill:
        t.ended_well(r, what)
        if r.code == 0:
            kills.same(t, configuration, cut, cut + ".rec", f"{what}, exit 0", tidy=call != "unlink")
    r = t.run(kills.command(t, configuration, "cut", resume=True))
    t.check(r.code == 0, f"{what}: --resume fails with {r.code}: {r.err[-300:]}")
    kills.same(t, configuration, cut, cut + ".rec", f"{what}, resumed")
    t.effect(happened, what)
    t.note("killed" if kill else "with a failed call")
