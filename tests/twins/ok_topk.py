"""Ok-Topk (Li, Hoefler, PPoPP 2022): thresholds of workers and of all, which are exact at times and follow the number of
entries in between; regions that workers own."""
# SPDX-License-Identifier: MIT

import numpy as np

import topk

SETTINGS = [
    "ok-topk k=1 workers=3 steps=4",
    "ok-topk k=40 workers=4 steps=9 refresh=5 repartition=4",
    "ok-topk density=0.1 workers=4 steps=3 refresh=3 repartition=2",
    "ok-topk density=1 workers=2",
    "ok-topk k=40 workers=1 steps=3",
    "ok-topk k=40 workers=3 steps=5 feedback=none refresh=1000",
]


def kth(x, k):
    return np.sort(np.abs(x))[-k]


def reaching(x, threshold):
    return (np.abs(x).astype(float) >= threshold) & (x != 0)


class Layer:
    """One layer's thresholds and bounds of regions."""

    def __init__(self, n, workers):
        self.even = [n * i // workers for i in range(workers + 1)]
        self.bounds = list(self.even)
        self.own = [0.0] * workers
        self.all = np.float32(0)

    def select(self, worker, p, k, fresh):
        t = self.own[worker]
        if fresh or t <= 0:
            t = float(kth(p, k))
        else:
            for _ in range(5):
                if 3 * reaching(p, t).sum() <= 4 * k:
                    break
                t *= 1.03
        mine = reaching(p, t)
        m = int(mine.sum())
        self.own[worker] = t / 1.012 if 3 * m < 2 * k else t * 1.012 if 4 * m > 5 * k else t
        return mine

    def choose(self, total, k, fresh):
        t = self.all
        if fresh or t <= 0:
            t = kth(total, k)
        chosen = reaching(total, float(t))
        m, factor = int(chosen.sum()), np.float32(1.008)
        self.all = t / factor if 3 * m < 2 * k else t * factor if 3 * m > 4 * k else t
        return chosen

    def move(self, masks, offset):
        parts = len(masks)
        total = np.zeros(parts + 1, int)
        for mask in masks:
            at = np.flatnonzero(mask)
            inner = [at[len(at) // parts * i] if len(at) else self.even[i] for i in range(1, parts)]
            total += offset + np.array([self.even[0]] + inner + [self.even[-1]])
        self.bounds = [x // parts - offset for x in total]


def step(case, ps, t):
    workers = len(ps)
    fresh = t % int(case.number("refresh", 32)) == 0
    moves = t % int(case.number("repartition", 64)) == 0
    layers = case.memory.setdefault("layers", [Layer(n, workers) for n in case.sizes])
    total, rests, bits = np.zeros_like(ps[0]), [p.copy() for p in ps], [0] * workers
    for layer, a, b in zip(layers, case.offset, case.offset[1:]):
        k = topk.share(case, b - a) if b > a else 0
        masks = [layer.select(w, p[a:b], k, fresh) if b > a else np.zeros(0, bool) for w, p in enumerate(ps)]
        for mask, p in zip(masks, ps):
            total[a:b][mask] += p[a:b][mask]
        chosen = layer.choose(total[a:b], k, fresh) if b > a else np.zeros(0, bool)
        total[a:b][~chosen] = 0
        for w, mask in enumerate(masks):
            low, high = layer.bounds[w], layer.bounds[w + 1]
            away = int(mask.sum() - mask[low:high].sum())
            bits[w] += 64 * (away + int(chosen[low:high].sum())) + (32 * (workers - 1) if moves else 0)
            rests[w][a:b][mask & chosen] = 0
        if moves:
            layer.move(masks, a)
    return bits, total, rests
