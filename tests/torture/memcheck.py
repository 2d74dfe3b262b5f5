"""Random methods under valgrind, resumed from a checkpoint: no use of memory that nobody wrote, which sanitizers do not see."""
# SPDX-License-Identifier: MIT

import os
import shutil

import methods
from torture import read

WHAT = "random methods that resume under valgrind's memcheck"
prepare = methods.prepare


def missing(t):
    return methods.missing(t) or (None if shutil.which("valgrind") else "no valgrind (apt-get install valgrind)")


def case(t):
    argv, _, steps = methods.accepted(t)
    log = os.path.join(t.folder, "valgrind")
    go_on = argv + methods.cut(t, argv, steps)
    # Valgrind knows no AVX-512; the kernels of AVX2 give the same bytes.
    checked = ["valgrind", "-q", f"--log-file={log}", "--error-exitcode=77"] + go_on
    r = t.run(checked + ["-o", "cut"], timeout=300, env={"SG_CPU": "avx2"})
    t.check(r.code == 0, f"under valgrind: exit {r.code}: {read(log)[:1500].decode()}{r.err[-300:]}")
    methods.compare(t, "cut", "resumed under valgrind")
