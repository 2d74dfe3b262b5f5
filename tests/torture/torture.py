"""What all campaigns share: cases drawn from a seed, programs that are run and remembered, and an exact count at the end.

A campaign is a module with
    WHAT             one line that says what it tries
    missing(t)       optional: why it cannot run on this machine, or None
    prepare(t)       optional: once, before the first case
    case(t)          one case, drawn from t.rng; returns when the programs did as they should
    conclude(t)      optional: raises Failure when the cases together did not try what they are for
A case ends in one of three ways: it returns (passed), raises Failure, or raises NoEffect when what it injected did not happen
(the process had ended before the signal came). Case number i depends on the seed, the campaign and i only."""
# SPDX-License-Identifier: MIT

import os
import random
import resource
import shlex
import shutil
import signal
import subprocess
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RECIPES = os.path.join(ROOT, "tests", "torture", "recipes")
SMOKE = os.path.join(ROOT, "recipes", "smoke.yaml")
MPI = [
    "mpirun",
    "--allow-run-as-root",
    "--oversubscribe",
    "--mca",
    "btl_vader_single_copy_mechanism",
    "none",
    "--mca",
    "mpi_yield_when_idle",
    "1",
]
SANITIZER = {
    "ASAN_OPTIONS": "exitcode=99:allocator_may_return_null=1:detect_leaks=1",
    "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1:exitcode=98",
}


class Failure(Exception):
    """The programs did what they must not do."""


class NoEffect(Exception):
    """What the case injected did not happen, so it shows nothing."""


class Result:
    """How a program ended: its exit code (negative: a signal; None: it did not end in time) and what it wrote."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err.decode("utf8", "replace")

    @property
    def crashed(self):
        """Ended by a signal, by its own abort, or by a sanitizer's report."""
        return (
            (self.code is not None and (self.code < 0 or self.code in (98, 99, 132, 134, 135, 136, 139)))
            or "Sanitizer" in self.err
            or "runtime error:" in self.err
        )


class Torture:
    """The state of one campaign."""

    def __init__(self, name, seed, folder, bin_, asan):
        self.name, self.seed, self.bin, self.asan = name, seed, bin_, asan
        self.dir = os.path.join(folder, name)
        self.data = os.path.join(folder, "data")
        shutil.rmtree(self.dir, ignore_errors=True)
        os.makedirs(self.dir)
        os.makedirs(self.data, exist_ok=True)
        self.tried = self.failed = self.without = 0
        self.memory = {}
        self.count = {}
        self.deadline = time.time() + 3600
        self.begin("prepare")

    def begin(self, index):
        """A fresh folder, a fresh generator and an empty list of commands for case `index`."""
        self.index = index
        self.rng = random.Random(f"{self.seed}/{self.name}/{index}")
        self.folder = os.path.join(self.dir, f"case-{index}")
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)
        self.trail = []

    def note(self, what):
        """Count something for the summary: how many cases went through a checkpoint, for example."""
        self.count[what] = self.count.get(what, 0) + 1

    def program(self, name, sanitized=False):
        return os.path.join(self.asan if sanitized else self.bin, name)

    def environment(self, more=None):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("SPARSE_", "OMP_", "GOMP_", "MAKE"))}
        # A program that finds GOMP_SPINCOUNT set does not start itself again: system calls and allocations count from its start.
        env.update(SPARSE_DATA=self.data, OMP_NUM_THREADS="1", GOMP_SPINCOUNT="5000", **SANITIZER)
        env.update(more or {})
        return env

    def start(self, argv, env=None, out=subprocess.DEVNULL, err=None, limits=None, cwd=None, given=None, close=()):
        """Start a program in a session of its own. limits: {resource.RLIMIT_x: value}. close: descriptors to close."""
        given_name = "<input" if given is not None else "</dev/null"
        more = " ".join(f"{k}={shlex.quote(v)}" for k, v in (env or {}).items())
        self.trail.append(
            f"{more} {' '.join(shlex.quote(str(a)) for a in argv)} {given_name}"
            f"{''.join(f' {d}>&-' for d in close)}{' # limits ' + str(limits) if limits else ''}".strip()
        )

        def before():
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            for what, value in (limits or {}).items():
                resource.setrlimit(what, (value, value))
            for descriptor in close:
                os.close(descriptor)

        return subprocess.Popen(
            [str(a) for a in argv],
            stdin=subprocess.PIPE if given is not None else subprocess.DEVNULL,
            stdout=out,
            stderr=err or subprocess.PIPE,
            env=self.environment(env),
            cwd=cwd or self.folder,
            start_new_session=True,
            preexec_fn=before,
        )

    def run(self, argv, timeout=60, given=None, **options):
        """Run a program to its end; what does not end in time is killed with all its children."""
        options.setdefault("out", subprocess.PIPE)
        if given is not None:
            with open(os.path.join(self.folder, "input"), "wb") as f:
                f.write(given)
        process = self.start(argv, given=given, **options)
        try:
            out, err = process.communicate(given, timeout)
            return Result(process.returncode, out or b"", err or b"")
        except subprocess.TimeoutExpired:
            self.end(process)
            return Result(None, b"", b"")

    def end(self, process, sig=signal.SIGKILL):
        """A signal to everything that the process started, if it is still there. Returns whether it was, and waits."""
        alive = process.poll() is None
        if alive:
            os.killpg(process.pid, sig)
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired as late:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
            raise Failure(f"did not end within a minute of signal {sig}") from late
        return alive

    def check(self, condition, message):
        if not condition:
            raise Failure(message)

    def effect(self, condition, message):
        if not condition:
            raise NoEffect(message)

    def ended_well(self, result, what, sanitized=False):
        """Not crashed, not hung, and never without a word."""
        self.check(result.code is not None, f"{what}: did not end in time")
        self.check(
            not result.crashed, f"{what}: crashed, exit {result.code}: {result.err[-1500 if sanitized else -300:]}"
        )
        self.check(result.code == 0 or result.err.strip(), f"{what}: exit {result.code} without a message")


def read(path):
    with open(path, "rb") as f:
        return f.read()


def write(path, data):
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def series(path):
    """A series or JSON result without its one record of time, host and ranks, the only bytes that two runs may differ in."""
    text = read(path)
    if not text.startswith(b"{\n"):
        return b"\n".join(line for line in text.split(b"\n") if not line.startswith(b'{"record":"run"'))
    import json

    document = json.loads(text)
    document.pop("run", None)
    return json.dumps(document).encode()


def damage(rng, data):
    """One change to a file: (what was done, the new bytes, which differ from the old)."""
    while True:
        new, kind = bytearray(data), rng.choice(["flip", "flip", "flip", "cut", "zero", "extend", "swap"])
        at = rng.randrange(len(new))
        if kind == "flip":
            new[at] ^= 1 << rng.randrange(8)
        elif kind == "cut":
            new = new[:at]
        elif kind == "zero":
            new[at : at + 512] = bytes(len(new[at : at + 512]))
        elif kind == "extend":
            new += rng.randbytes(rng.randrange(1, 200))
        else:
            other = rng.randrange(len(new))
            new[at], new[other] = new[other], new[at]
        if new != data:
            return f"{kind} at byte {at} of {len(data)}", bytes(new)
