"""INCEPTIONN (MICRO 2018): whole multiples of twice the error bound in 0, 8 or 16 bits, what is beyond in 32 as it is."""

import numpy as np

SETTINGS = ["inceptionn error-bound=0.01", "inceptionn error-bound=1e-5 feedback=none", "inceptionn error-bound=1e10"]


def compress(case, p, layer, worker, step):
    x, size = p.astype(np.float64), float(np.float32(2 * float(case.param["error-bound"])))
    q = np.rint(x / size)
    beyond = (np.abs(q) > 32767) | (np.abs(q * size) > float(np.finfo(np.float32).max))
    bits = np.where(beyond, 32, np.where(np.abs(q) > 127, 16, np.where(q != 0, 8, 0)))
    return np.where(beyond, x, q * size), int(2 * len(p) + np.sum(bits))
