"""Plays methods of the library against their independent twins, bit for bit: play.py PROGRAM [FILE] NAME...

A twin is a module NAME.py beside this file with SETTINGS, the arguments of PROGRAM (play.c), and a function

    compress(case, p, layer, worker, step) -> (sent, bits)

which is given what one layer's compressor is given, floats of 32 bits, and returns what its message stands for, and what
it costs. It may raise Refused. Twins whose layers are not independent of each other have in its place

    message(case, p, worker, step) -> (sent, bits)           p: a list, one vector for each layer

and those with more than one round, or whose sum is not the sum of what was sent,

    step(case, ps, step) -> (bits of each worker, sum, residual of each worker or None)      ps: a list for each worker

Those of feedback rules find the workers' gradients in case.g and say in case.own by how much x exceeds each worker's own
parameters.

Where singular vectors make the last bits a matter of the algorithm, a module may have a TOLERANCE: how far what was sent may
be off, relative to the largest number. It may also have check(), which tries its functions on worked examples, and can keep
what steps hand on in `case.memory`, a dict which is empty at the beginning of a case.
"""
# SPDX-License-Identifier: MIT

import importlib
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))


class Refused(Exception):
    """The input cannot be compressed."""


class Case:
    def __init__(self, setting, words):
        self.kind, self.seed, self.first = (int(x) for x in words[:3])
        self.sizes = [int(x.split(":")[0]) for x in words[3:]]
        self.rows = [int(x.split(":")[1]) for x in words[3:]]
        self.offset = [sum(self.sizes[:l]) for l in range(len(self.sizes) + 1)]
        self.compressor = setting[0]
        self.param = dict(x.split("=") for x in setting[1:])
        self.workers = int(self.param.get("workers", 2))
        self.memory = {}

    def number(self, key, preset=None):
        return float(self.param[key]) if key in self.param else preset

    def cut(self, x):
        return [x[a:b] for a, b in zip(self.offset, self.offset[1:])]


def message(twin, case, p, worker, step):
    if hasattr(twin, "message"):
        return twin.message(case, case.cut(p), worker, step)
    sent, cost = [], 0
    for layer, part in enumerate(case.cut(p)):
        some, bits = twin.compress(case, part, layer, worker, step)
        sent.append(np.asarray(some, np.float32))
        cost += bits
    return np.concatenate(sent), cost


def same(a, b):
    """The same bits, but that 0 may have either sign."""
    a, b = np.asarray(a, np.float32) + np.float32(0), np.asarray(b, np.float32) + np.float32(0)
    return np.array_equal(a.view(np.uint32), b.view(np.uint32))


def check_step(twin, case, t, workers, total):
    """What is wrong with one step, in words; nothing if all is right."""
    if hasattr(twin, "step"):
        bits, right, residuals = twin.step(case, [w["p"] for w in workers], t)
        if not same(total, right):
            yield "sum"
        for i, w in enumerate(workers):
            if w["bits"] != bits[i]:
                yield "bits %r, not %r" % (w["bits"], bits[i])
            if "e" in w and not same(w["e"], residuals[i]):
                yield "residual"
            if "own" in w and not same(w["own"], case.own[i]):
                yield "own parameters"
        return
    right = np.zeros_like(total)
    for i, w in enumerate(workers):
        sent, bits = message(twin, case, w["p"], i, t)
        sent = np.asarray(sent, np.float32)
        if hasattr(twin, "TOLERANCE") and np.abs(sent - w["sent"]).max() <= twin.TOLERANCE * np.abs(sent).max():
            sent = w["sent"]
        right += sent
        if not same(sent, w["sent"]):
            at = int(np.flatnonzero(sent != w["sent"])[0]) if (sent != w["sent"]).any() else -1
            yield "worker %d sent %r at %d, not %r" % (i, w["sent"][at], at, sent[at])
        if w["bits"] != bits:
            yield "bits %r, not %r" % (w["bits"], bits)
        if "e" in w and not same(w["e"], w["p"] - sent):
            yield "residual"
    if not same(total, right):
        yield "sum"


def play(program, file, name):
    twin = importlib.import_module(name.replace("-", "_"))
    cases = wrong = 0
    getattr(twin, "check", lambda: None)()
    for setting in twin.SETTINGS:
        words = setting.split()
        arguments = words + (["file=" + file] if file else [])
        lines = subprocess.run([program] + arguments, stdout=subprocess.PIPE, check=True, text=True).stdout.splitlines()
        case, workers, t = None, [], 0
        for line in lines:
            word, *rest = line.split()
            if word == "case":
                case = Case(words, rest)
                cases += 1
                bad = False
            elif word == "step":
                workers, case.g, t = [], [], int(rest[0])
            elif word == "refused":
                bad = bad or case.kind != 6  # only vectors of huge numbers may be refused
                wrong += bad
            elif word == "bits":
                workers[-1]["bits"] = float(rest[0])
            else:
                x = np.frombuffer(bytes.fromhex(rest[0]) if rest else b"", ">f4").astype(np.float32)
                if word == "p":
                    workers.append({})
                if word == "sum":
                    with np.errstate(over="ignore", invalid="ignore"):
                        problems = list(check_step(twin, case, t, workers, x))
                    if problems and not bad:
                        print("wrong: %s, kind %d, sizes %s, step %d: %s" % (setting, case.kind, case.sizes, t, problems[0]))
                        bad = True
                        wrong += 1
                elif word == "g":
                    case.g.append(x)
                else:
                    workers[-1][word] = x
    print("%s: %d cases, %d wrong" % (name, cases, wrong))
    return cases > 0 and wrong == 0


if __name__ == "__main__":
    program, *names = sys.argv[1:]
    file = names.pop(0) if os.path.exists(names[0]) else None
    sys.exit(not all([play(program, file, name) for name in names]))
