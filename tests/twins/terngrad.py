"""TernGrad (Wen et al., NeurIPS 2017): the sign times the layer's largest magnitude s with the probability |p| / s, or 0.
With clipping at so many standard deviations first, and with the largest s of all workers."""
# SPDX-License-Identifier: MIT

import numpy as np

from common import CODE, Stream

SETTINGS = ["terngrad feedback=none", "terngrad clip=2.5", "terngrad clip=0.5 workers=1 steps=1"]
SETTINGS += ["terngrad-shared workers=3", "terngrad-shared clip=1 feedback=none steps=1"]


def total(x):
    lanes = np.concatenate([x, np.zeros(-len(x) % 16)]).reshape(-1, 16)
    return float(np.add.accumulate(np.add.accumulate(lanes, axis=0)[-1])[-1])


def clipped(p, clip):
    y = p.astype(np.float64)
    y -= total(y) / len(y)
    most = np.float32(min(clip * np.sqrt(total(y * y) / len(y)), 3.4028234663852886e38))
    return np.clip(p, -most, most)


def ternary(case, layers, scales, worker, step):
    draws = Stream(case.seed, CODE, worker, step)
    sent = []
    for p, s in zip(layers, scales):
        u = np.array([draws.u32() >> 8 for _ in p], np.float64) * 2.0**-24
        share = np.abs(p) / s if s > 0 else np.zeros_like(p)
        sent.append(np.where(u < share, np.copysign(s, p), np.float32(0)))
    return np.concatenate(sent).astype(np.float32)


def prepared(case, p):
    """The layers as they are rounded, and the largest magnitude of each."""
    layers = [clipped(x, case.number("clip")) if "clip" in case.param and len(x) else x for x in case.cut(p)]
    return layers, [np.max(np.abs(x), initial=0) for x in layers]


def play_own(case, ps, step):
    bits, sent = [], []
    for worker, p in enumerate(ps):
        layers, scales = prepared(case, p)
        bits.append(sum(2 * len(x) + 32 for x in layers if len(x)))
        sent.append(ternary(case, layers, scales, worker, step))
    return bits, sent


def play_shared(case, ps, step):
    every = [prepared(case, p) for p in ps]
    scales = np.max([scales for _, scales in every], axis=0)
    sent = [ternary(case, layers, scales, worker, step) for worker, (layers, _) in enumerate(every)]
    return [2 * len(p) + 32 * len(scales) for p in ps], sent


def step(case, ps, step):
    bits, sent = (play_shared if case.compressor == "terngrad-shared" else play_own)(case, ps, step)
    total = np.zeros_like(ps[0])
    for x in sent:
        total += x
    return bits, total, [p - x for p, x in zip(ps, sent)]
