"""Workers with parameters of their own. CSER (Xie et al., NeurIPS 2020), as its authors write it:

    delta = gamma u, u <- m u + g       delta = c + r with c = C(delta)     x_i <- x_i - mean c - r_i       e_i <- e_i - r_i
    every H-th step: e_i = c' + r'      x_i <- x_i - e_i + mean c' + r'     e_i <- r'

x_i - e_i is the same for all i: x. The library keeps -e_i, which is x - x_i.

Qsparse-local-SGD (Basu et al., NeurIPS 2019):

    x_i <- x_i - gamma g      every H-th step: delta = m + x - x_i, c = C(delta), m <- delta - c, x <- x - mean c, x_i <- x

Streaming DiLoCo (Douillard et al., arXiv 2501.18512) sends fragments of the layers, each at steps of its own, and tau steps later
x of the fragment moves and x_i <- alpha x_i + (1 - alpha) x. Here x moves by the mean of what was sent.

NaiveFDA (Theologitis et al., arXiv 2405.20988): the same, not at every H-th step, but where the mean of |x - x_i|^2 over workers
exceeds the square of a threshold. Each worker sends that number of its own at every step, in 32 bits.
"""
# SPDX-License-Identifier: MIT

import copy
import importlib

import numpy as np

import play
from common import sum_squares

SETTINGS = [
    "topk k=40 feedback=cser feedback.interval=3 steps=7",
    "topk k=20 feedback=cser feedback.interval=2 feedback.reset=60 feedback.momentum=0.5 gamma=0.25 steps=5",
    "randomk k=40 feedback=cser feedback.interval=2 workers=3 steps=5",
    "hard-threshold lambda=1 feedback=cser feedback.interval=2 feedback.reset=0.1 gamma=0.3 steps=5",
    "eden bits=2 block=64 feedback=cser feedback.interval=2 steps=3",
    "topk k=20 feedback=local-steps feedback.steps=3 gamma=0.3 steps=7",
    "none feedback=local-steps feedback.steps=2 steps=4",
    "hard-threshold lambda=1 feedback=local-steps feedback.steps=2 gamma=0.3 workers=3 steps=5",
    "topk k=20 feedback=local-steps feedback.steps=4 feedback.fragments=2 gamma=0.3 steps=9",
    "none feedback=diloco feedback.steps=5 feedback.fragments=3 feedback.delay=2 feedback.mixing=0.5 workers=3 steps=12",
    "hard-threshold lambda=1 feedback=diloco feedback.steps=4 feedback.delay=3 gamma=0.3 steps=9",
    "eden bits=2 block=64 feedback=diloco feedback.steps=3 feedback.fragments=2 feedback.strided=0 feedback.mixing=0.25 steps=7",
    "randomk k=40 feedback=diloco feedback.steps=6 feedback.fragments=3 feedback.delay=1 gamma=0.3 steps=8",
    "none feedback=dynamic-averaging feedback.threshold=60 steps=6",
    "topk k=20 feedback=dynamic-averaging feedback.threshold=20 gamma=0.3 workers=3 steps=9",
    "hard-threshold lambda=1 feedback=dynamic-averaging feedback.threshold=5 gamma=0.3 steps=7",
    "none feedback=dynamic-averaging steps=2",
]


def compress(case, p, worker, step, **param):
    """C(p) and its bits, by the compressor's own twin."""
    twin = importlib.import_module(case.compressor.replace("-", "_"))
    case = copy.copy(case)
    case.param = dict(case.param, **param)
    if "lambda" in case.param:  # p is in updates
        case.param["lambda"] = case.number("lambda") * case.number("gamma", 1)
    return play.message(twin, case, p, worker, step)


def fragment(case, t):
    """The numbers of the layers whose turn it is, and a case of these layers alone; no numbers if it is nobody's turn."""
    every, n = int(case.number("feedback.steps", 500)), int(case.number("feedback.fragments", 1))
    turns = [p for p in range(n) if (t + 1) % every == p * every // n]
    strided, layers = case.number("feedback.strided", 1), len(case.sizes)
    mine = [l for l in range(layers) if turns and (l % n if strided else l * n // layers) == turns[0]]
    case = copy.copy(case)
    ranges = [np.arange(case.offset[l], case.offset[l + 1]) for l in mine]
    case.sizes, case.rows = [case.sizes[l] for l in mine], [case.rows[l] for l in mine]
    case.offset = [sum(case.sizes[:l]) for l in range(len(mine) + 1)]
    return np.concatenate(ranges).astype(int) if mine else np.arange(0), case


def send(case, ways, ms, at, part, ps, bits, t):
    """The sum of what the workers send of their numbers `at`, which are the layers of `part`."""
    total = np.zeros(case.offset[-1], np.float32)
    for i in range(case.workers):
        delta = np.zeros_like(total)
        delta[at] = ms[i][at] + ways[i][at]
        assert play.same(delta, ps[i]), "what is compressed"
        c, cost = (delta[at], 32 * len(at)) if case.compressor == "none" else compress(part, delta[at], i, t)
        bits[i] += cost
        ms[i] = ms[i].copy()
        ms[i][at] = delta[at] - c
        total[at] += c
    return total


def local_steps(case, ps, t):
    zero, gamma = np.zeros(case.offset[-1], np.float32), np.float32(case.number("gamma", 1))
    ways, ms = case.memory.setdefault("way", [zero] * case.workers), case.memory.setdefault("e", [zero] * case.workers)
    bits, total = [0] * case.workers, zero.copy()
    for i, g in enumerate(case.g):
        ways[i] = ways[i] + gamma * g  # x - x_i
    if case.param["feedback"] == "dynamic-averaging":
        bits = [32] * case.workers
        total[0] = sum((np.float32(sum_squares(way)) for way in ways), np.float32(0))  # all that is sent so far
        if total[0] / np.float64(case.workers) > case.number("feedback.threshold", 0) ** 2:
            total = send(case, ways, ms, np.arange(len(zero)), case, ps, bits, t)
            case.memory["way"] = ways = [zero] * case.workers
        case.own = ways
        return bits, total, ms
    delay, alpha = int(case.number("feedback.delay", 0)), np.float32(case.number("feedback.mixing", 0))
    waiting = case.memory.setdefault("waiting", zero.copy())
    at, part = fragment(case, t)
    if len(at):
        total = send(case, ways, ms, at, part, ps, bits, t)
        waiting[at] = total[at]
    at, _ = fragment(case, t - delay)
    moved = waiting[at] / np.float32(case.workers)
    for i in range(case.workers if t >= delay else 0):
        ways[i] = ways[i].copy()
        ways[i][at] = alpha * ways[i][at] - alpha * moved if alpha else 0
    case.own = ways
    return bits, total, ms


def step(case, ps, t):
    if case.param["feedback"] != "cser":
        return local_steps(case, ps, t)
    one, zero = np.float32, np.zeros(case.offset[-1], np.float32)
    gamma, m, every = one(case.number("gamma", 1)), one(case.number("feedback.momentum", 0)), case.number("feedback.interval", 8)
    knob = {"hard-threshold": "lambda"}.get(case.compressor, "k")
    reset = {knob: case.param["feedback.reset"]} if "feedback.reset" in case.param else {}
    es, us = case.memory.setdefault("e", [zero] * case.workers), case.memory.setdefault("u", [zero] * case.workers)
    bits, first, second = [], zero.copy(), zero.copy()
    for i, g in enumerate(case.g):
        us[i] = m * us[i] + g
        delta = gamma * us[i]
        assert play.same(delta, ps[i]), "what is compressed"
        c, cost = compress(case, delta, i, t)
        es[i] = es[i] + (delta - c)
        bits.append(cost)
        first += c
    if (t + 1) % every == 0:
        for i in range(case.workers):
            c, cost = compress(case, es[i], i, t + 2**40, **reset)
            es[i] = es[i] - c
            bits[i] += cost
            second += c
    case.own = es
    return bits, second + first, es
