"""INCEPTIONN (MICRO 2018): whole multiples of twice the error bound in 0, 8 or 16 bits, what is beyond in 32 as it is."""
# SPDX-License-Identifier: MIT

import math

import numpy as np

SETTINGS = ["inceptionn error-bound=0.01", "inceptionn error-bound=1e-5 feedback=none", "inceptionn error-bound=1e10"]
SETTINGS += ["inceptionn-grace error-bound=2e-10", "inceptionn-grace error-bound=0.02 steps=1"]


def grace(p, bound):
    """GRACE's tensorflow/compressor/inceptionn.py. 8 bits of 0 are read back as 2^-7."""
    exponent = p.view(np.uint32).astype(np.int64) >> 23 & 255
    least = 127 + int(math.log(bound / 2, 10))
    middle = least + math.ceil((127 - least) / 2)
    whole, half, byte = exponent >= 127, (exponent >= middle) & (exponent < 127), (exponent >= least) & (exponent < middle)
    sent = np.where(whole, p, np.float32(0))
    for some, bits in ((half, 14), (byte & (exponent < 127), 6)):
        quotient = np.floor(np.abs(np.where(some, p, 0)) * 2.0**bits)
        sent = np.where(some, np.copysign(np.where(quotient > 0, quotient, 0.5) * 2.0**-bits, p), sent)
    return sent, int(2 * len(p) + 32 * whole.sum() + 16 * half.sum() + 8 * byte.sum())


def compress(case, p, layer, worker, step):
    if case.compressor == "inceptionn-grace":
        return grace(p, float(case.param["error-bound"]))
    x, size = p.astype(np.float64), float(np.float32(2 * float(case.param["error-bound"])))
    q = np.rint(x / size)
    beyond = (np.abs(q) > 32767) | (np.abs(q * size) > float(np.finfo(np.float32).max))
    bits = np.where(beyond, 32, np.where(np.abs(q) > 127, 16, np.where(q != 0, 8, 0)))
    return np.where(beyond, x, q * size), int(2 * len(p) + np.sum(bits))
