"""Top-k both ways with error feedback at both ends (Tang et al., DoubleSqueeze, ICML 2019, algorithm 1; Zhong et al., 2021)."""
# SPDX-License-Identifier: MIT

import numpy as np

from topk import compress

SETTINGS = ["topk-twice k=10 steps=4", "topk-twice density=0.1 workers=3 steps=3"]
SETTINGS += ["topk-twice k=3 feedback=none workers=1 steps=3", "topk-twice density=1 steps=2"]


def top(case, x):
    """Top-k of every layer, and what it costs."""
    parts = [compress(case, part, layer, 0, 0) if len(part) else (part, 0) for layer, part in enumerate(case.cut(x))]
    return np.concatenate([part[0] for part in parts]).astype(np.float32), sum(part[1] for part in parts)


def step(case, ps, step):
    messages = [top(case, p) for p in ps]
    total = np.zeros_like(ps[0])
    for sent, _ in messages:
        total += sent
    v = case.memory.get("server", np.zeros_like(total)) + total / np.float32(len(ps))
    answer, _ = top(case, v)
    case.memory["server"] = v - answer
    return [bits for _, bits in messages], np.float32(len(ps)) * answer, [p - sent for p, (sent, _) in zip(ps, messages)]
