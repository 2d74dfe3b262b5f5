"""What becomes of the sum of signs: the majority vote of signSGD (Bernstein et al., ICLR 2019), and the second compression
of STC (Sattler et al., TNNLS 2020), of 1-bit Adam (Tang et al., ICML 2021) and of dist-EF-SGD (Zheng et al., NeurIPS
2019), with a residual of the receivers."""
# SPDX-License-Identifier: MIT

import numpy as np

import sparse_signs
from signs import read_back
from topk import share

SETTINGS = ["signsgd", "signsgd tie=1 workers=4 feedback=none", "signsgd workers=3 feedback=momentum steps=4"]
SETTINGS += ["stc k=10 steps=4", "stc density=0.1 workers=3 steps=3", "stc k=3 feedback=none workers=1 steps=3"]
SETTINGS += ["%s %s" % (name, rest) for name in ("sign-l2-twice", "ef-signsgd-twice") for rest in ("steps=4", "feedback=none workers=3")]
CODE = {"sign-l2-twice": "signs-rms", "ef-signsgd-twice": "signs"}


def vote(case, ps):
    signs = [np.where(p < 0, np.float32(-1), np.float32(1)) for p in ps]
    votes = np.sign(np.sum(signs, axis=0))
    votes[votes == 0] = case.number("tie", 0)
    return [len(ps[0])] * len(ps), len(ps) * votes, [p - s for p, s in zip(ps, signs)]


def sparse_again(case, x):
    """The largest elements of a layer as their mean magnitude, summed one after another."""
    sent = np.zeros_like(x)
    if len(x):
        chosen = sparse_signs.largest(x, x == x, share(case, len(x)))
        mean = np.float32(np.add.accumulate(np.abs(x[chosen]).astype(np.float64))[-1] / chosen.sum())
        sent[chosen] = np.where(x[chosen] < 0, -mean, mean)
    return sent


def of_worker(case, p):
    if case.compressor in CODE:
        return read_back(CODE[case.compressor], p)
    return sparse_signs.top_signs(case, p)


def step(case, ps, step):
    if case.compressor == "signsgd":
        return vote(case, ps)
    bits, total, residuals = [], np.zeros_like(ps[0]), []
    for p in ps:
        parts = [of_worker(case, part) for part in case.cut(p)]
        sent = np.concatenate([part[0] for part in parts]).astype(np.float32)
        bits.append(sum(part[1] for part in parts))
        total += sent
        residuals.append(p - sent)
    ratio = case.memory.get("ratio", np.float32(1))  # of learning rates, where the feedback rule corrects residuals for it
    x = ratio * case.memory.get("e", np.zeros_like(total)) + total / np.float32(len(ps))
    again = sparse_again if case.compressor == "stc" else lambda case, part: read_back(CODE[case.compressor], part)[0]
    sent = np.concatenate([again(case, part) for part in case.cut(x)])
    case.memory["e"] = x - sent
    return bits, np.float32(len(ps)) * sent, residuals
