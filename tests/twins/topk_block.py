"""Top-k of every block of neighbours; a shorter block sends as large a share, rounded up."""
# SPDX-License-Identifier: MIT

import numpy as np

SETTINGS = ["topk-block k=3 block=32", "topk-block density=0.1 block=64", "topk-block k=2 block=5 feedback=none"]


def compress(case, p, layer, worker, step):
    size = int(case.number("block"))
    k = min(size, int(case.number("k", 0)) or max(1, int(case.number("density") * size)))
    sent, count = np.zeros_like(p), 0
    for begin in range(0, len(p), size):
        block = p[begin : begin + size]
        share = min(len(block), -(-k * len(block) // size))
        chosen = np.argsort(-np.abs(block), kind="stable")[:share]
        sent[begin + chosen] = block[chosen]
        count += share
    return sent, 64 * count


def check():
    p = np.array([0.5, -1.25, 2, -0.125, 0, 3, -2.5, 0.75], np.float32)

    class Two:
        number = staticmethod(lambda key, preset=None: {"block": 4, "k": 1}.get(key, preset))

    assert compress(Two, p, 0, 0, 0)[0].tolist() == [0, 0, 2, 0, 0, 3, 0, 0]


check()
