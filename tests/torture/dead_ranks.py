"""A rank, or mpirun, is killed: all ranks are gone within seconds, the checkpoint is there, and the run can be resumed."""
# SPDX-License-Identifier: MIT

import os
import signal
import time

import ranks
from torture import MPI, RECIPES

WHAT = "a killed rank ends all, and the run resumes"
missing = ranks.missing


def children(pid):
    """The processes that `pid` started, by number."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="utf8", errors="replace") as f:
                    if int(f.read().rsplit(")", 1)[1].split()[1]) == pid:
                        found.append(int(entry))
            except OSError:
                pass
    return sorted(found)


def there(pid):
    """Is there a process of this number that still runs (not one that waits to be reaped)?"""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf8", errors="replace") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, seconds):
    end = time.time() + seconds
    while not condition() and time.time() < end:
        time.sleep(0.02)
    return condition()


def case(t):
    argv = [
        t.program("sparsetrain"),
        "-q",
        os.path.join(RECIPES, "logreg.yaml"),
        "--method",
        "Hard-threshold",
        "--set",
        "epochs=null",
        "--set",
        "steps=100000000",
        "--set",
        "record.every=100000",
        "--checkpoint-every",
        "50",
        "-o",
        "out",
    ]
    checkpoint = os.path.join(t.folder, "out.ckpt")
    process = t.start(MPI + ["-n", "3"] + argv)
    try:
        t.check(wait_until(lambda: os.path.exists(checkpoint), 30), "there is no checkpoint after half a minute")
        pids = children(process.pid)
        t.check(len(pids) == 3, f"mpirun has {len(pids)} children")
        sig = t.rng.choice([signal.SIGKILL, signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
        victim = t.rng.choice(pids + [process.pid]) if sig == signal.SIGTERM else t.rng.choice(pids)
        what = f"signal {int(sig)} to {'mpirun' if victim == process.pid else 'a rank'}"
        os.kill(victim, sig)
        t.check(wait_until(lambda: process.poll() is not None, 10), f"{what}: mpirun is still there after 10 s")
        t.check(wait_until(lambda: not any(there(p) for p in pids), 3), f"{what}: ranks are still there after mpirun")
        t.check(process.returncode != 0, f"{what}: exit 0")
        t.check(os.path.getsize(checkpoint) > 0, f"{what}: no checkpoint is left")
    finally:
        t.end(process)
    before = os.stat(checkpoint).st_mtime_ns
    resumed = t.start(argv + ["--resume"])
    try:
        t.check(
            wait_until(lambda: resumed.poll() is not None or os.stat(checkpoint).st_mtime_ns != before, 20)
            and resumed.poll() is None,
            f"{what}: the resumed run did not get to a checkpoint",
        )
        resumed.send_signal(signal.SIGTERM)
        t.check(wait_until(lambda: resumed.poll() is not None, 20), f"{what}: the resumed run swallows SIGTERM")
        t.check(
            resumed.returncode in (143, -15), f"{what}: the resumed run ends with {resumed.returncode} after SIGTERM"
        )
    finally:
        t.end(resumed)
