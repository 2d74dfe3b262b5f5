"""Cyclic local Top-k (ScaleCom, Chen et al., NeurIPS 2020): worker t mod P chooses the positions of all."""
# SPDX-License-Identifier: MIT

import numpy as np

import topk

SETTINGS = [
    "clt-k k=1 workers=3 steps=4",
    "clt-k k=40 workers=4 steps=5",
    "clt-k density=0.1 workers=1",
    "clt-k density=1",
    "clt-k k=40 workers=3 steps=4 feedback=scalecom-lpf feedback.beta=0.25",
    "clt-k k=40 workers=3 feedback=none",
]


def step(case, ps, t):
    leader = t % len(ps)
    chosen = []
    for part, at in zip(case.cut(ps[leader]), case.offset):
        k = topk.share(case, len(part)) if len(part) else 0
        chosen += list(at + np.sort(np.argsort(-np.abs(part), kind="stable")[:k]))
    total = np.zeros_like(ps[0])
    bits, rests = [], []
    for worker, p in enumerate(ps):
        total[chosen] += p[chosen]
        rest = p.copy()
        rest[chosen] = 0
        rests.append(rest)
        bits.append((64 if worker == leader else 32) * len(chosen))
    if "feedback.beta" in case.param:
        rests = low_pass(case, rests)
    return bits, total, rests


def low_pass(case, rests):
    """e = (1 - beta) e + beta (p - C(p)), in floats."""
    beta = np.float32(case.param["feedback.beta"])
    old = case.memory.get("e", [np.zeros_like(r) for r in rests])
    case.memory["e"] = [(np.float32(1) - beta) * e + beta * r for e, r in zip(old, rests)]
    return case.memory["e"]
