"""Hard-threshold (Sahu et al., NeurIPS 2021, section 5): every element of magnitude lambda or more."""

import numpy as np

SETTINGS = ["hard-threshold lambda=0.5", "hard-threshold lambda=1e-43", "hard-threshold lambda=3 feedback=none"]


def compress(case, p, layer, worker, step):
    large = np.abs(p) >= np.float32(case.number("lambda"))
    return np.where(large, p, np.float32(0)), 64 * int(large.sum())
