"""Multiples of a fixed step (Gupta et al., ICML 2015): the nearest, ties to even, or at random; what b bits lack is exact."""
# SPDX-License-Identifier: MIT

import numpy as np

from common import CODE, EXAMPLE, draws, uniform

SETTINGS = [
    "grid step=0.1",
    "grid step=1.5 bits=2",
    "grid step=1e-12 bits=4",
    "grid step=0.5 stochastic=1 bits=3",
    "grid step=0.05 stochastic=1 feedback=none",
    "grid step=0",
]


def grid(x, step, bits, u=None):
    """What x becomes, and where it is sent as it is."""
    most = 2 ** (bits - 1) - 1
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        a = np.where(x == 0, 0, np.abs(x) / step)
    beyond = a > min(most, np.floor(float(np.finfo(np.float32).max) / step) if step > 0 else 0)
    a = np.where(beyond, 0, a)
    q = np.rint(a) if u is None else np.floor(a) + (u < a - np.floor(a))
    return np.where(beyond, x, np.sign(x) * q * step), beyond


def message(case, p, worker, step):
    p = np.concatenate(p).astype(np.float64)
    size, bits = float(np.float32(case.param["step"])), int(case.number("bits", 8))
    u = uniform(draws(case.seed, CODE, worker, step, 0, len(p))) if case.number("stochastic", 0) else None
    sent, beyond = grid(p, size, bits, u)
    return sent, min(bits * len(p), (bits + 32) * np.count_nonzero(sent)) + 64 * np.count_nonzero(beyond)


def check():
    assert np.array_equal(grid(EXAMPLE, 1.0, 8)[0], [0, -1, 2, 0, 0, 3, -2, 1])
