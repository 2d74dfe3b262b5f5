"""Hard-threshold (Sahu et al., NeurIPS 2021, section 5): every element of magnitude lambda or more."""
# SPDX-License-Identifier: MIT

import numpy as np

SETTINGS = ["hard-threshold lambda=0.5", "hard-threshold lambda=1e-43", "hard-threshold lambda=3 feedback=none"]
SETTINGS += ["hard-threshold-grace lambda=3", "hard-threshold-grace lambda=0.5 feedback=none"]


def compress(case, p, layer, worker, step):
    least = np.float32(case.number("lambda"))
    if case.compressor == "hard-threshold-grace" and len(p):  # dist/compressor/threshold.py: the largest number with its sign
        least = min(least, p.max())
    large = np.abs(p) >= least
    return np.where(large, p, np.float32(0)), 64 * int(large.sum())
