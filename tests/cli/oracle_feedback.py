"""The least error under error feedback, once more in NumPy: oracle_feedback.py GRADIENTS.npy EVIDENCE.json [tiny]

Computes what results/analysis/least_error.py found at each of its prices, from the definitions in results/THRESHOLDS.md;
with `tiny` also every choice of messages there is, which neither a bound may exceed nor anything attained undercut.
"""
# SPDX-License-Identifier: MIT
import itertools
import json
import sys

import numpy as np


def own(x, price):
    """Entries x [steps][any]: (messages, sum of squared residuals) of the cheapest choice, by the last message's step."""
    total = np.vstack([np.zeros(x.shape[1]), np.cumsum(x, 0)])
    cost, count = [0 * total[0]], [0 * total[0]]
    for t in range(1, len(total)):
        best = np.argmin(cost, 0)[None]
        here = np.take_along_axis(np.array(cost), best, 0)[0] + price
        many = np.take_along_axis(np.array(count), best, 0)[0] + 1
        cost = [c + (total[t] - total[a]) ** 2 for a, c in enumerate(cost)] + [here]
        count.append(many)
    return finish(cost, count, price)


def finish(cost, count, price):
    best = np.argmin(cost, 0)[None]
    many = np.take_along_axis(np.array(count), best, 0)[0]
    least = np.take_along_axis(np.array(cost), best, 0)[0]
    return many.sum(), (least - np.where(many > 0, price * many, 0)).sum()


def jumps(x, price):
    """Sums of mean gradients, approximated by 0 and then by levels: the same with the squares about the best level."""
    total = np.cumsum(x, 0)
    steps = len(total)

    def about(a, b):  # steps a+1 .. b, after a message at step a + 1; without one for a < 0
        part = total[max(a, 0) : b]
        return (part**2).sum(0) if a < 0 else ((part - part.mean(0)) ** 2).sum(0)

    cost, count = [np.zeros(x.shape[1])], [np.zeros(x.shape[1])]  # of all before the last message
    for t in range(steps):
        whole = np.array([c + about(a - 1, t) for a, c in enumerate(cost)])
        best = np.argmin(whole, 0)[None]
        cost.append(np.take_along_axis(whole, best, 0)[0] + price)
        count.append(np.take_along_axis(np.array(count), best, 0)[0] + 1)
    return finish([c + about(a - 1, steps) for a, c in enumerate(cost)], count, price)


def rule(g, price):
    steps, n, d = g.shape
    e, sent, error = np.zeros((n, d)), 0, 0.0
    for t in range(steps):
        e += g[t]
        for _ in range(n):
            gain = e * (2 * e.sum(0) - e)
            best = gain.argmax(0)
            hit = (gain.max(0) >= price * n * n) & (gain.max(0) > 0)
            e[best[hit], np.flatnonzero(hit)] = 0
            sent += hit.sum()
        error += (e.mean(0) ** 2).sum()
    return sent, error


def every_choice(g, square):
    """least [k] over all choices of k messages: every choice of one entry, then their sum over entries."""
    steps, n, d = g.shape
    least = np.array([0.0])
    for j in range(d):
        mine = np.full(steps * n + 1, np.inf)
        for choice in itertools.product((0, 1), repeat=steps * n):
            sends = np.array(choice).reshape(steps, n)
            e, error = np.zeros(n), 0.0
            for t in range(steps):
                e = np.where(sends[t], 0, e + g[t, :, j])
                error += square(e)
            mine[sends.sum()] = min(mine[sends.sum()], error)
        both = np.full(len(least) + steps * n, np.inf)
        for k, error in enumerate(mine):
            both[k : k + len(least)] = np.minimum(both[k : k + len(least)], least + error)
        least = both
    return least


def near(a, b):
    return abs(a - b) <= 1e-9 * max(abs(a), abs(b)) + 1e-12


g = np.load(sys.argv[1]).astype(float)
found = json.load(open(sys.argv[2]))
steps, n, d = g.shape
scale = (g**2).sum() / n
assert near(found["gradient_square"], scale), (found["gradient_square"], scale)
entries, mean = g.reshape(steps, n * d), g.mean(1)
seen = 0
for m in found["methods"]:
    if m["left_out"]:
        continue
    seen += 1
    k, o, a = m["sent"], m["least"], m["least_mean"]
    sent, error = own(entries, o["bound_price"])
    assert near((error + o["bound_price"] * (sent - k)) / n / scale, o["bound"]), (m, sent, error)
    sent, error = own(entries, o["attained_price"])
    assert sent == o["attained_sent"] <= k and near(error / n / scale, o["attained"]), (m, sent, error)
    sent, error = jumps(mean, a["bound_price"])
    assert near((error + a["bound_price"] * (sent - k)) / scale, a["bound"]) or a["bound"] == 0, (m, sent, error)
    sent, error = rule(g, a["attained_price"])
    assert sent == a["attained_sent"] <= k and near(error / scale, a["attained"]), (m, sent, error)
    assert o["bound"] <= o["attained"] and a["bound"] <= a["attained"] and o["bound"] <= m["error_relative"] + 1e-6, m
    assert a["bound"] <= m["error_mean_relative"] + 1e-6, m
    if len(sys.argv) > 3:
        least = every_choice(g, lambda e: (e**2).sum() / n) / scale
        assert near(least[o["attained_sent"]], o["attained"]), (m, least)
        assert o["bound"] <= min(least[: k + 1]) + 1e-9, (m, least)
        least = every_choice(g, lambda e: e.mean() ** 2) / scale
        assert a["bound"] <= min(least[: k + 1]) + 1e-9, (m, least)
        assert a["attained"] >= min(least[: a["attained_sent"] + 1]) - 1e-9, (m, least)
assert seen > 0
print("ok", seen)
