"""Top-k and hard-threshold whose numbers are clipped at a multiple of their threshold; that of Top-k is the least magnitude
other than 0 that it sends. p - r is sent and r = fl(p - c sign p) stays, so that both add up to p exactly."""
# SPDX-License-Identifier: MIT

import numpy as np

import topk

SETTINGS = ["clipped-threshold lambda=0.5", "clipped-threshold lambda=1e-43 clip=3", "clipped-threshold lambda=3 clip=1 feedback=none"]
SETTINGS += ["clipped-topk k=40", "clipped-topk density=0.1 clip=1", "clipped-topk k=40 clip=1.5 feedback=none steps=1"]


def compress(case, p, layer, worker, step):
    clip = case.number("clip", 2)
    if case.compressor == "clipped-threshold":
        least = np.float32(case.number("lambda"))
        chosen = np.abs(p) >= least
        sent, bits = np.where(chosen, p, np.float32(0)), 64 * int(chosen.sum())
    else:
        sent, bits = topk.compress(case, p, layer, worker, step)
        least = min(np.abs(sent[sent != 0]), default=np.float32(np.inf))
    with np.errstate(over="ignore"):
        most = np.float32(clip * float(least))
    beyond = np.abs(sent) > most
    left = sent - np.copysign(most, sent)
    return np.where(beyond, sent - np.where(beyond, left, 0), sent), bits
