"""Blocks of neighbours whose mean square is above lambda^2, sent whole."""
# SPDX-License-Identifier: MIT

import numpy as np

SETTINGS = [
    "block-threshold lambda=1 block=16",
    "block-threshold lambda=0.6 block=33 feedback=none",
    "block-threshold lambda=0 block=7 steps=1",
]


def compress(case, p, layer, worker, step):
    size, limit = int(case.number("block")), case.number("lambda")
    sent, bits = np.zeros_like(p), 0
    for begin in range(0, len(p), size):
        block = p[begin : begin + size]
        if np.square(block.astype(np.float64)).sum() > limit * limit * len(block):
            sent[begin : begin + size] = block
            bits += 32 * len(block) + 32
    return sent, bits


def check():
    p = np.array([0.5, -1.25, 2, -0.125, 0, 3, -2.5, 0.75], np.float32)

    class Two:
        number = staticmethod(lambda key, preset=None: {"block": 4, "lambda": 1.5}.get(key, preset))

    assert compress(Two, p, 0, 0, 0)[0].tolist() == [0, 0, 0, 0, 0, 3, -2.5, 0.75]


check()
