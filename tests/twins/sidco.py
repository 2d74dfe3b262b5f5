"""SIDCo (Abdelmoniem, Elzanaty, Alouini, Canini, MLSys 2021): thresholds by fits of the magnitudes, in stages."""
# SPDX-License-Identifier: MIT

import math

import numpy as np

from topk import share

SETTINGS = [
    "sidco-e density=0.1 stages=1",
    "sidco-e density=0.02 stages=3",
    "sidco-e k=5 steps=11 workers=1",
    "sidco-gp density=0.1 stages=1 steps=1",
    "sidco-gp density=0.01 stages=2 approximate=1",
    "sidco-gp density=0.004 steps=11 workers=1",
    "sidco-p density=0.1 stages=1 steps=1",
    "sidco-p density=0.4 stages=4 steps=1",
    "sidco-p k=3 steps=11 first=0.3 workers=1",
    "sidco-e-shared density=0.02 steps=7",
    "sidco-gp-shared density=0.01 approximate=1 steps=3 workers=1",
]


def tail(a, x):
    """P(X > x) of a gamma variable of shape a: the series, or the continued fraction by Lentz beyond the mean."""
    front = math.exp(a * math.log(x) - x - math.lgamma(a))
    if x < a + 1:
        term = total = 1 / a
        i = a
        while term > 1e-17 * total:
            i += 1
            term *= x / i
            total += term
        return 1 - total * front
    b = x + 1 - a
    c, d = 1e300, 1 / b
    h = d
    for i in range(1, 10000):
        b += 2
        d = 1 / (i * (a - i) * d + b)
        c = b + i * (a - i) / c
        h *= d * c
        if abs(d * c - 1) < 1e-15:
            break
    return front * h


def quantile(a, q):
    low, high = -690.0, math.log(a + 1000)
    for _ in range(70):
        middle = (low + high) / 2
        if tail(a, math.exp(middle)) > q:
            low = middle
        else:
            high = middle
    return math.exp(high)


def gamma(a, q, approximate):
    some = a[a > 0]
    q *= len(a) / max(1, len(some))
    if len(some) == 0 or q >= 1:
        return 0
    mean = some.mean()
    s = math.log(mean) - np.log(some).mean()
    if s <= 1e-6:
        return mean
    shape = (3 - s + math.sqrt((s - 3) ** 2 + 24 * s)) / (12 * s)
    scale = mean / shape
    return -scale * (math.log(q) + math.lgamma(shape)) if approximate else scale * quantile(shape, q)


def pareto(a, q):
    mean = a.mean()
    variance = ((a - mean) ** 2).sum() / (len(a) - 1) if len(a) > 1 else 0
    if variance == 0 or mean * mean / variance == math.inf:
        return mean
    x, A = (mean * mean / variance - 1) / 2, mean * (mean * mean / variance + 1) / 2
    return A * (1 - q**x) / x if x else -A * math.log(q)


def threshold(fit, a, delta, stages, first, approximate):
    q = delta if stages == 1 or delta >= first else first
    if fit == "e":
        above = -a.mean() * math.log(q)
    else:
        above = gamma(a, q, approximate) if fit == "gp" else pareto(a, q)
    if stages > 1 and delta < first:
        r = (delta / first) ** (1 / (stages - 1))
        for _ in range(stages - 1):
            a = a[a > above]
            if len(a) < 2:
                break
            least = a.min()
            above = least + (-(a - least).mean() * math.log(r) if fit == "e" else pareto(a - least, r))
    return above


def compress(case, p, layer, worker, step):
    n = len(p)
    if n == 0:
        return p, 0
    k = share(case, n)
    fit, shared = case.compressor[6:].split("-")[0], case.compressor.endswith("-shared")
    counter = (0 if shared else layer, worker)
    state = case.memory.setdefault(counter, {"stages": 1, "ratios": []})
    stages = int(case.number("stages", 0)) or state["stages"]
    a = np.abs(p).astype(np.float64)
    above = threshold(fit, a, k / n, stages, case.number("first", 0.25), case.number("approximate", 0))
    sent = np.where(a > above, p, np.float32(0))
    count = int((a > above).sum())
    state["ratios"].append(count / k)
    if len(state["ratios"]) == 5:
        mean = sum(state["ratios"]) / 5
        most = max(1, math.ceil(math.log(k / n) / math.log(0.5)))
        state["stages"] = max(1, min(most, state["stages"] - (mean > 1.2) + (mean < 0.8)))
        state["ratios"] = []
    return sent, 64 * count


def check():
    """Thresholds of a known vector, and what the fits reach of a target on known distributions."""
    p = np.array([0.5, -1.25, 2, -0.125, 0, 3, -2.5, 0.75])
    assert abs(threshold("e", np.abs(p), 3 / 8, 1, 0.25, 0) - 1.241362) < 1e-6
    assert abs(threshold("e", np.abs(p), 1 / 4, 1, 0.25, 0) - 1.754529) < 1e-6
    a = np.abs(np.random.default_rng(1).laplace(size=100000))
    for fit in "e", "gp", "p":
        assert 0.8 < (a > threshold(fit, a, 0.01, 1, 0.25, 0)).mean() / 0.01 < 1.2, fit


check()
