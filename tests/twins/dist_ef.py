"""dist-EF-SGDM (Zheng, Huang, Kwok, NeurIPS 2019, algorithm 3), with layers as blocks. With r = gamma of the last step /
gamma, C the sign of every number with the mean magnitude of its layer, and M workers:

    worker i    u <- m u + g        p = m u + g + r e       send C(p)       e <- p - C(p)
    server      q = sum C(p) / M + r s                      send C(q)       s <- q - C(q)

It is also played with other compressors, whose servers keep nothing or something else.
"""
# SPDX-License-Identifier: MIT

import numpy as np

import play
import sign_sums

SETTINGS = [
    "ef-signsgd-twice feedback=dist-ef-sgdm steps=5 gamma=0.3 gamma-factor=0.7",
    "ef-signsgd-twice feedback=dist-ef-sgdm feedback.momentum=0 steps=4 workers=3 gamma-factor=2",
    "ef-signsgd-twice feedback=dist-ef-sgdm feedback.momentum=0.5 steps=4 workers=1",
    "sign-l2-twice feedback=lr-correction steps=4 gamma-factor=0.1",
    "stc k=10 feedback=dist-ef-sgdm steps=4 gamma-factor=0.5",
]


def step(case, ps, t):
    zero = np.zeros(case.offset[-1], np.float32)
    m = np.float32(case.number("feedback.momentum", 0.9))
    last, gamma = case.memory.get("gamma"), case.number("gamma", 1)
    if last is not None:
        gamma = last * case.number("gamma-factor", 1)
        case.memory["ratio"] = np.float32(last / gamma)
    case.memory["gamma"] = gamma
    us, es = (case.memory.setdefault(name, [zero] * case.workers) for name in ("u", "workers"))
    right = []
    for i, g in enumerate(case.g):
        us[i] = m * us[i] + g
        v = m * us[i] + g if case.param["feedback"] == "dist-ef-sgdm" else g
        right.append(case.memory.get("ratio", np.float32(1)) * es[i] + v)
        assert play.same(right[i], ps[i]), "what is compressed"
    bits, total, case.memory["workers"] = sign_sums.step(case, right, t)
    return bits, total, case.memory["workers"]
