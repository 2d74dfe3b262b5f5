"""Integers that workers add, in a scale they know in common: SwitchML (NSDI 2021), IntSGD (ICLR 2022), Global-QSGD (2025)."""
# SPDX-License-Identifier: MIT

import math

import numpy as np

from common import EXAMPLE, draws, sum_squares, uniform

COMPRESS = 3
FLOAT_MAX = float(np.finfo(np.float32).max)
SETTINGS = [
    "switchml",
    "switchml bits=8 block=33 workers=3",
    "switchml bits=24 block=1000 feedback=none",
    "switchml workers=5 steps=3",
    "switchml-hint bits=8 workers=4 steps=1",
    "switchml-hint bits=24 block=100 steps=1",
    "intsgd steps=4",
    "intsgd bits=4 workers=3 beta=0.5 scale=3 steps=3",
    "intsgd bits=16 feedback=none steps=3",
    "global-qsgd workers=3",
    "global-qsgd bits=4 steps=3",
    "global-qsgd bits=16 feedback=none",
    "global-qsgd-exp workers=5 steps=3",
    "global-qsgd-exp bits=4 workers=3",
    "global-qsgd-exp bits=3 workers=4 feedback=none",
]


def within_floats(x):
    return np.clip(x, -FLOAT_MAX, FLOAT_MAX)


def switchml_scale(xs, bits):
    """f of one block."""
    largest = max(np.abs(x).max() for x in xs)
    exponent = max(math.frexp(largest)[1], -126) if largest > 0 else -126
    return (2.0 ** (bits - 1) - 1) / len(xs) * 2.0**-exponent


def switchml(case, xs):
    bits, block, d = int(case.number("bits", 32)), int(case.number("block", 256)), len(xs[0])
    hint = case.compressor == "switchml-hint"  # gradient_reducers.py of IntSGD: floor(log2 max), then clamp
    most, total, kept, blocks = (2 ** (bits - 1) - 1) // len(xs), np.zeros(d), [x.copy() for x in xs], 0
    for begin, end in zip(case.offset, case.offset[1:]):
        for at in range(begin, end, block):
            part = slice(at, min(end, at + block))
            f = switchml_scale([x[part] for x in xs], bits) * (2 if hint else 1)
            q = [np.sign(x[part]) * np.floor(np.abs(x[part]) * f + 0.5) for x in xs]
            q = [np.clip(x, -(2 ** (bits - 1) // len(xs)) if hint else -most, most) for x in q]
            total[part] = within_floats(sum(q) / f)
            for e, own in zip(kept, q):
                e[part] -= within_floats(own / f).astype(np.float32)
            blocks += 1
    return [bits * d + 8 * blocks] * len(xs), total, kept


def integers(case, x, worker, step, factor, most):
    a = np.minimum(np.abs(x) * factor, most)
    u = uniform(draws(case.seed, COMPRESS, worker, step, 0, len(x)))
    return np.sign(x) * np.minimum(np.floor(a) + (u < a - np.floor(a)), most)


def intsgd(case, xs, step):
    bits, beta, m, d, n = int(case.number("bits", 8)), case.number("beta", 0.9), case.memory, len(xs[0]), len(xs)
    alpha = m.get("alpha", 0)
    if alpha:
        q = [integers(case, x, w, step, alpha, (2 ** (bits - 1) - 1) // n) for w, x in enumerate(xs)]
        total = within_floats(sum(q) / alpha).astype(np.float32)
        kept = [x - within_floats(own / alpha).astype(np.float32) for x, own in zip(xs, q)]
    else:
        total, kept = np.zeros(d, np.float32), [np.zeros(d)] * n
        for x in xs:
            total = total + x.astype(np.float32)
    square = sum_squares(total) / n**2
    m["r"] = float(np.float32(beta * m["r"] + (1 - beta) * square if alpha else square))
    next_alpha = case.number("scale", 1) * math.sqrt(d) / math.sqrt(2 * n * (m["r"] + 1e-16))
    m["alpha"] = float(np.float32(min(max(next_alpha, 2.0**-126), 2.0**126)))
    return [(bits if alpha else 32) * d] * n, total, kept


def global_qsgd(case, xs, step):
    bits, n = int(case.number("bits", 8)), len(xs)
    factor = np.zeros(len(xs[0]))
    for a, b in zip(case.offset, case.offset[1:]):
        largest = max((np.abs(x[a:b]).max() for x in xs), default=0) if b > a else 0
        factor[a:b] = (2 ** (bits - 1) - 1) / (n * largest) if largest > 0 else 0
    q = [integers(case, x, w, step, factor, np.inf) for w, x in enumerate(xs)]
    scale = np.where(factor > 0, factor, 1)
    kept = [x - within_floats(own / scale).astype(np.float32) for x, own in zip(xs, q)]
    return [bits * len(xs[0]) + 32 * len(case.sizes)] * n, within_floats(sum(q) / scale), kept


def add_powers(a, b, u):
    """Sums of powers of two with signs, rounded without bias to a power of two."""
    swap = np.abs(a) < np.abs(b)
    large, small = np.where(swap, b, a), np.where(swap, a, b)
    share = np.abs(small) / np.where(large, np.abs(large), 1)
    same = large * small > 0
    up, down = np.where(u < share, 2, 1), np.where(share == 1, 0, np.where(u < 2 * share, 0.5, 1))
    return large * np.where(small == 0, 1, np.where(same, up, down))


def global_exponents(case, xs, step):
    bits, n, d = int(case.number("bits", 8)), len(xs), len(xs[0])
    least, unit = 2.0 ** (1 - 2 ** (bits - 1)), np.zeros(d)
    for a, b in zip(case.offset, case.offset[1:]):
        if b > a:
            unit[a:b] = 2 * 2 ** math.ceil(math.log2(n)) * max(np.abs(x[a:b]).max() for x in xs)
    levels = []
    for w, x in enumerate(xs):
        u, y = uniform(draws(case.seed, COMPRESS, w, step, 0, d)), np.abs(x) / np.where(unit > 0, unit, 1)
        m, e = np.frexp(y)
        power = np.where(y < least, np.where(u < y / least, least, 0), np.exp2((e - 1 + (u < 2 * m - 1)).astype(float)))
        levels.append(np.sign(x) * power)
    part, stride = list(levels), 1
    while stride < n:
        for r in range(0, n - stride, 2 * stride):
            u = uniform(draws(case.seed, COMPRESS, n + r + stride, step, 0, d))
            part[r] = add_powers(part[r], part[r + stride], u)
        stride *= 2
    kept = [x - within_floats(own * unit).astype(np.float32) for x, own in zip(xs, levels)]
    return [bits * d + 32 * len(case.sizes)] * n, within_floats(part[0] * unit), kept


def step(case, ps, t):
    xs = [p.astype(np.float64) for p in ps]
    if case.compressor.startswith("switchml"):
        bits, total, kept = switchml(case, xs)
    else:
        method = {"intsgd": intsgd, "global-qsgd": global_qsgd, "global-qsgd-exp": global_exponents}[case.compressor]
        bits, total, kept = method(case, xs, t)
    return bits, total.astype(np.float32), [x.astype(np.float32) for x in kept]


def check():
    f = switchml_scale([EXAMPLE, EXAMPLE / 2], 32)
    assert f == 268435455.875
    q = [134217728, -335544320, 536870912, -33554432, 0, 805306368, -671088640, 201326592]
    assert np.array_equal(np.sign(EXAMPLE) * np.floor(np.abs(EXAMPLE) * f + 0.5), q)
