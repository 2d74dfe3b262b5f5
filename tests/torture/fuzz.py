"""libFuzzer on every harness of tests/fuzz for an equal part of the campaign's time; one case is one harness. In the short run it is
the harness's own corpus and RUNS more.

What it finds goes into build/torture/corpus, the inputs that break something into build/torture/failures. `fuzz.py merge` (make
fuzz-merge) takes from that corpus what reaches code that the corpus in the tree does not reach, as long as it is small.
"""
# SPDX-License-Identifier: MIT

import os
import re
import shutil
import subprocess
import sys
import time

from torture import ROOT, Torture

WHAT = "libFuzzer on the readers"

LONGEST = {"result": 65536, "frame": 65536, "recipe": 65536, "cifar": 20000}  # bytes of an input; 16384 for the others
SECONDS_LIMIT = 10  # for one input
LARGEST_KEPT = 1024  # bytes of an input that is merged into the tree
RUNS = 1000  # of each harness in the short run
MOST_KEPT = 40  # inputs of one harness in the tree


def harnesses():
    return sorted(
        f[5:-2] for f in os.listdir(os.path.join(ROOT, "tests", "fuzz")) if f.startswith("fuzz_") and f.endswith(".c")
    )


def missing(t):
    lacking = [n for n in harnesses() if not os.access(os.path.join(t.fuzz, "fuzz_" + n), os.X_OK)]
    return f"no fuzzers in {os.path.relpath(t.fuzz)} (make fuzz needs clang)" if lacking else None


def prepare(t):
    t.harnesses = harnesses()
    t.each = max(1, int((t.deadline - time.time()) / len(t.harnesses)) - 1)
    t.corpus = os.path.join(os.path.dirname(t.dir), "corpus")


def case(t):
    t.effect(t.short or t.index < len(t.harnesses) or time.time() + t.each < t.deadline + 5, "no time is left")
    name = t.harnesses[t.index % len(t.harnesses)]
    own = os.path.join(ROOT, "tests", "fuzz", "corpus", name)
    found = os.path.join(t.folder if t.short else t.corpus, name)
    enough = f"-runs={len(os.listdir(own)) + RUNS}" if t.short else f"-max_total_time={t.each}"
    os.makedirs(found, exist_ok=True)
    seed = t.rng.randrange(1, 2**31)
    # Standard error is redirected into a file: a fuzzer says much, and what it says last is what matters.
    with open(os.path.join(t.folder, "log"), "w+b") as log:
        process = t.start(
            [
                os.path.join(t.fuzz, "fuzz_" + name),
                f"-seed={seed}",
                enough,
                f"-timeout={SECONDS_LIMIT}",
                "-rss_limit_mb=3000",
                "-malloc_limit_mb=2500",
                f"-max_len={LONGEST.get(name, 16384)}",
                f"-artifact_prefix={t.folder}/",
                "-print_final_stats=1",
                found,
                own,
            ],
            err=log,
        )
        try:
            process.wait(t.each + 120)
        except subprocess.TimeoutExpired:
            t.end(process)
            t.check(False, f"{name}: the fuzzer did not end")
        log.seek(0)
        text = log.read().decode("utf8", "replace")
    units = re.search(r"number_of_executed_units: (\d+)", text)
    t.check(
        process.returncode == 0,
        f"{name}, seed {seed}: exit {process.returncode}: "
        f"{' '.join(f for f in os.listdir(t.folder) if f != 'log')}\n{text[-2500:]}",
    )
    t.effect(units and int(units.group(1)) > (RUNS if t.short else 0), f"{name}: too little was executed")
    t.count["executions"] = t.count.get("executions", 0) + int(units.group(1))


def conclude(t):
    t.check(not t.short or t.tried >= len(t.harnesses), f"the short run tries {t.tried} of {len(t.harnesses)} harnesses")


def merge():
    """Add what reaches new code to the corpora in the tree: small inputs first, until a corpus has MOST_KEPT."""
    t = Torture("merge", 0, os.path.join(ROOT, "build", "torture"), "", "")
    fuzz = os.path.join(ROOT, "build", "fuzz", "fuzz")
    for name in harnesses():
        found = os.path.join(ROOT, "build", "torture", "corpus", name)
        kept = os.path.join(ROOT, "tests", "fuzz", "corpus", name)
        small, merged = os.path.join(t.folder, name), os.path.join(t.folder, name + ".merged")
        os.makedirs(small)
        for f in os.listdir(found) if os.path.isdir(found) else []:
            if os.path.getsize(os.path.join(found, f)) <= LARGEST_KEPT:
                shutil.copy(os.path.join(found, f), small)
        shutil.copytree(kept, merged)
        argv = [os.path.join(fuzz, "fuzz_" + name), "-set_cover_merge=1", merged, small]
        code = subprocess.call(argv, env=t.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        before = len(os.listdir(kept))
        new = [os.path.join(merged, f) for f in set(os.listdir(merged)) - set(os.listdir(kept))]
        new = sorted(new, key=os.path.getsize)[: max(0, MOST_KEPT - before)]
        for f in new:
            shutil.copy(f, kept)
        print(f"{name}: {before} inputs and {len(new)} new ones" + (f", exit {code}" if code else ""))
    shutil.rmtree(t.dir)


if __name__ == "__main__" and sys.argv[1:] == ["merge"]:
    merge()
