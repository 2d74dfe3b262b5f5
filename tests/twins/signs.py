"""Every number as its sign: EF-SignSGD (Karimireddy et al., ICML 2019) with the mean magnitude of the layer, the scale of
1-bit Adam (Tang et al., ICML 2021) with the root of the mean square, and 1-bit SGD (Seide et al., Interspeech 2014) with
the mean of each side. 0 counts as positive. Also as codes of what Top-k selects."""
# SPDX-License-Identifier: MIT

import numpy as np

from common import lane_sum
from topk import share

CODE = {"ef-signsgd": "signs", "sign-l2": "signs-rms", "onebit": "two-means"}
SETTINGS = ["ef-signsgd", "ef-signsgd feedback=none", "sign-l2", "onebit", "onebit feedback=ef21 steps=4"]
SETTINGS += ["topk density=0.1 values=%s" % code for code in ("signs", "signs-rms", "two-means")]
SETTINGS += ["topk k=30 values=signs-fixed values.magnitude=0.7"]


def mean(x):
    return np.float32(lane_sum(x) / len(x)) if len(x) else np.float32(0)


def read_back(code, x, magnitude=1):
    """What the code makes of a layer's numbers, and the bits."""
    y, negative = np.asarray(x, np.float64), x < 0
    if len(x) == 0:
        return x, 0
    if code == "two-means":
        above, below = (lane_sum(np.where(side, y, 0)) for side in (~negative, negative))
        count = np.array([np.sum(~negative), np.sum(negative)])
        means = [np.float32(s / n) if n else np.float32(0) for s, n in zip((above, below), count)]
        return np.where(negative, means[1], means[0]), len(x) + 32 * int(np.sum(count > 0))
    if code == "signs":
        size = lane_sum(np.abs(y)) / len(x)
    elif code == "signs-rms":
        size = np.sqrt(lane_sum(y * y) / len(x))
    else:
        size = magnitude
    size = np.float32(size)
    return np.where(negative, -size, size), len(x) + 32 * (code != "signs-fixed")


def compress(case, p, layer, worker, step):
    if case.compressor in CODE:
        return read_back(CODE[case.compressor], p)
    if len(p) == 0:
        return p, 0
    chosen = np.zeros(len(p), bool)
    chosen[np.argsort(-np.abs(p), kind="stable")[: share(case, len(p))]] = True
    sent = np.zeros_like(p)
    sent[chosen], bits = read_back(case.param["values"], p[chosen], case.number("values.magnitude"))
    return sent, bits + 32 * int(chosen.sum())
