"""What a compressor's delay costs: each step of the derivation in results/STEPS.md, simulated.

Usage: python3 results/analysis/delay.py [--json] [PART]...

An entry gets the gradient h x + noise at each step. What is not sent waits, and x moves by the rate times what is sent.
v is the variance of the noise, lambda the threshold, V the share that is sent, and kappa is rate h lambda^2 / v. PARTs,
by default all:

* delay: walks that are sent beyond a threshold, or at random. `waits` is mean e^2 / v, what waits in steps of gradient;
  `delay` is what a small drift adds to the mean of e, in steps of the drift; both are multiplied by 6 V.
  With a lag, successive gradients are correlated.
* floor: the stationary mean x^2 at a constant rate, over that without compression. `line` is 1 + kappa / 6.
* lag: without compression, the correlation of successive gradients of a worker and of their mean, and `ratio`, the
  square of the sum over 64 steps over the sum of squares.
* lengths: step efficiency phi of runs along a cosine, over directions of many curvatures. The noise of a direction is
  proportional to its curvature, or the same for all.
* layers: phi of 250 steps where a 60th of the entries is a layer that is 15 times as steep as the mean. `steep` is its
  share of the loss at the end.

phi compares with the exact mean loss without compression. Python's standard library is enough."""
# SPDX-License-Identifier: MIT

import argparse
import heapq
import math
import random
import statistics
from operator import add, mul

from basics import put_json, put_lines
from correlation import Sums, pooled
from law import deviation

SEED = 7


# ---- one entry ----

def walk(rng, steps, s, drift, lag, random_share=None):
    """What is sent, and the mean and mean square of what waits. Steps have deviation s and correlation lag."""
    # A moving average a z(t) + b z(t - 1) has variance a^2 + b^2 and covariance a b.
    b = math.copysign(math.sqrt((1 - math.sqrt(1 - 4 * lag * lag)) / 2), lag) * s
    a = math.sqrt(s * s - b * b)
    e = total = square = old = 0.0
    sent = 0
    for _ in range(steps):
        z = rng.gauss(0, 1)
        e += drift + a * z + b * old
        old = z
        if abs(e) >= 1 if random_share is None else rng.random() < random_share:
            e = 0.0
            sent += 1
        total += e
        square += e * e
    return sent / steps, total / steps, square / steps


def delays():
    rows = []
    for name, share, lag, at_random in (("threshold, 0.3 %", 0.003, 0, False), ("threshold, 1 %", 0.01, 0, False),
                                        ("threshold, 3 %", 0.03, 0, False), ("lag −0.2", 0.01, -0.2, False),
                                        ("lag 0.3", 0.01, 0.3, False), ("at random, 1 %", 0.01, 0, True)):
        s = deviation(share)
        drift = 0.5 * s * s  # it shifts the mean by a twelfth of the threshold
        rng = random.Random(SEED)
        steps = int(20000 / share)
        (sent, at_rest, square), (_, moved, _) = [walk(rng, steps, s, by, lag, share if at_random else None)
                                                  for by in (0, drift)]
        rows.append({"label": name, "sent": sent, "over_law": sent / s**2, "waits": 6 * sent * square / s**2,
                     "delay": 6 * sent * (moved - at_rest) / drift})
    return rows


def quadratic(rng, workers, entries, steps, slope, threshold):
    """Means of x^2 and of what is sent, and the gradients' sums, of entries with variance 1 at rate 1; slope is h."""
    x, e = [0.0] * entries, [[0.0] * entries for _ in range(workers)]
    own, together = [Sums(entries) for _ in range(workers)], Sums(entries)
    square = sent = 0.0
    warm = steps // 3
    for t in range(steps):
        step, mean = [0.0] * entries, [0.0] * entries
        for i in range(workers):
            g = [slope * v + rng.gauss(0, 1) for v in x]
            p = list(map(add, e[i], g))
            e[i] = [v if abs(v) < threshold else 0.0 for v in p]
            step = [a + b - c for a, b, c in zip(step, p, e[i])]
            if not threshold and t >= warm:
                own[i].take(g)
                mean = list(map(add, mean, g))
            elif t >= warm:
                sent += sum(abs(v) >= threshold for v in p)
        if t >= warm:
            square += math.fsum(map(mul, x, x))
            if not threshold:
                together.take([v / workers for v in mean])
        x = [a - b / workers for a, b in zip(x, step)]
    n = entries * (steps - warm)
    return square / n, sent / n / workers, own, together


def floors():
    rows = []
    slope = 0.03
    for workers, entries in ((1, 64), (8, 16)):
        exact = 1 / workers / (slope * (2 - slope))  # the stationary mean without compression
        for kappa in (0.3, 1, 3, 10):
            square, sent, _, _ = quadratic(random.Random(SEED), workers, entries, 12000, slope, math.sqrt(kappa / slope))
            rows.append({"label": f"{workers} workers, kappa {kappa:g}", "sent": sent, "floor": square / exact,
                         "line": 1 + kappa / 6})
    return rows


def lags():
    rows = []
    for workers, slope in ((1, 0.1), (8, 0.1), (8, 0.3)):
        _, _, own, together = quadratic(random.Random(SEED), workers, 256 // workers, 6000, slope, 0)
        own, mean = pooled(own), pooled([together])
        rows.append({"label": f"{workers} workers, rate h {slope:g}", "worker": own["lag"], "mean": mean["lag"],
                     "ratio": own["ratio"]["64"], "mean_ratio": mean["ratio"]["64"]})
    return rows


# ---- many directions ----

def spectrum(d, low, high):
    """Curvatures: d of them in geometric ranges, of which flat ones have more, so that loss falls as T^-0.3."""
    return [(low**-0.7 + (high**-0.7 - low**-0.7) * (i + 0.5) / d) ** (1 / -0.7) for i in range(d)]


class Problem:
    """Directions of curvature h and noise v that start at x = 3 and are trained along a cosine with a rate below 1."""

    def __init__(self, h, v):
        self.h, self.v, self.s = h, v, [math.sqrt(w) for w in v]
        lengths = sorted({round(2 * 3000 ** (i / 40)) for i in range(41)})
        self.curve = [(math.log(t), self.dense(t)) for t in lengths]

    @staticmethod
    def rate(t, steps):
        return 0.5 * (1 + math.cos(math.pi * t / steps))

    def dense(self, steps):
        """The exact mean loss without compression."""
        square = [9.0] * len(self.h)
        for t in range(steps):
            rate = self.rate(t, steps)
            square = [(1 - rate * h) ** 2 * x + rate * rate * v for x, h, v in zip(square, self.h, self.v)]
        return math.fsum(map(mul, self.h, square))

    def train(self, rng, steps, choose):
        """(what is sent, loss of each direction): choose returns the size that each entry must have to be sent."""
        x, e = [3.0] * len(self.h), [0.0] * len(self.h)
        sent = 0
        for t in range(steps):
            rate = self.rate(t, steps)
            e = [w + h * a + s * rng.gauss(0, 1) for w, h, a, s in zip(e, self.h, x, self.s)]
            least = choose(e)
            for j, w in enumerate(e):
                if abs(w) >= least[j]:
                    x[j] -= rate * w
                    e[j] = 0.0
                    sent += 1
        return sent / steps / len(x), [h * a * a for h, a in zip(self.h, x)]

    def phi(self, loss, steps):
        """By the logarithm of the loss, on a line between neighbours; the least length where none is as bad."""
        for (a, high), (b, low) in zip(self.curve, self.curve[1:]):
            if low <= loss <= high:
                return math.exp(a + (b - a) * math.log(high / loss) / math.log(high / low)) / steps
        return math.exp(self.curve[0 if loss > self.curve[0][1] else -1][0]) / steps


def lengths():
    h = spectrum(300, 1e-4, 0.5)
    middle = statistics.fmean(h)
    rows = []
    for noise, v in (("as the curvature", h), ("the same", [middle] * len(h))):
        problem = Problem(h, v)
        for kappa in (1, 3, 10):
            row = {"label": f"noise {noise}, kappa {kappa}"}
            for steps in (125, 500, 2000):
                # The same draws without compression say how far they are from the exact mean.
                runs, plain = [[problem.train(random.Random(SEED + i), steps, lambda e: [size] * len(e))
                                for i in range(3)] for size in (math.sqrt(kappa), 0)]
                loss = math.fsum(map(math.fsum, (r[1] for r in runs))) / math.fsum(map(math.fsum, (r[1] for r in plain)))
                row[f"sends_{steps}"] = steps * statistics.fmean(r[0] for r in runs)
                row[f"phi_{steps}"] = problem.phi(loss * problem.dense(steps), steps)
            rows.append(row)
    return rows


def largest(e, k):
    """The size of the k-th largest entry."""
    return heapq.nlargest(k, map(abs, e))[-1]


def layers():
    flat, steep = spectrum(3000, 4e-4, 0.5), spectrum(50, 3e-2, 1)
    h, n = flat + steep, len(flat)
    problem = Problem(h, h)
    middle = statistics.fmean(h)

    def threshold(share):
        size = math.sqrt(middle / share)
        return lambda e: [size] * len(e)

    def entire(share):
        return lambda e: [largest(e, max(1, math.ceil(share * len(e))))] * len(e)

    def by_layer(share):
        return lambda e: [size for part in (e[:n], e[n:]) for size in
                          [largest(part, max(1, math.ceil(share * len(part))))] * len(part)]

    rows = []
    for name, make in (("hard-threshold", threshold), ("Top-k of the model", entire), ("Top-k by layer", by_layer)):
        for share in (0.001, 0.003, 0.01, 0.03):
            sent, loss = problem.train(random.Random(SEED), 250, make(share))
            rows.append({"label": f"{name}, {100 * share:g} %", "sent": sent, "phi": problem.phi(math.fsum(loss), 250),
                         "steep": math.fsum(loss[n:]) / math.fsum(loss)})
    return rows


PARTS = {"delay": delays, "floor": floors, "lag": lags, "lengths": lengths, "layers": layers}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one document of all rows")
    parser.add_argument("part", nargs="*", metavar="PART", choices=[[], *PARTS], default=[])
    opt = parser.parse_args()
    found = {part: PARTS[part]() for part in opt.part or PARTS}
    if opt.json:
        put_json({"schema": "delay/1", "results": [{"part": part, **row} for part, rows in found.items() for row in rows]})
        return
    for part, rows in found.items():
        put_lines([part, *list(rows[0])[1:]], [[v if isinstance(v, str) else f"{v:.4g}" for v in row.values()]
                                              for row in rows], range(1, 9))


if __name__ == "__main__":
    main()
