"""Algorithm 1 in PyTorch, for the golden values of whole training steps (lm_steps_golden.py, gpt_steps_golden.py,
ncf_steps_golden.py).
Gradients are autograd's, clipping and optimizers are PyTorch's own; the rest are the rules of the paper in plain words.
A trajectory in double precision gives the values, the same in single precision how far rounding may carry them."""
# SPDX-License-Identifier: MIT
import sys
from collections import Counter

import numpy as np
import torch

from philox import TEST, draw

WORKERS, STEPS = 8, 10
WORDS, LINE = 432, 12  # of a text


def top_k(share):
    """The largest max(1, floor(share n)) of n, of equal ones those that come first; and how near the next one is."""

    def select(p):
        k = max(1, int(share * p.numel()))
        size, place = torch.sort(p.abs().reshape(-1), descending=True, stable=True)
        sent = torch.zeros(p.numel(), dtype=torch.bool)
        sent[place[:k]] = True
        return sent.view_as(p), ((size[k - 1] - size[k]) / size[k - 1]).item() if k < p.numel() and size[k - 1] > 0 else 1

    return select


def hard_threshold(threshold):
    """All that is at least the threshold; and how near to it the nearest one is."""

    def select(p):
        return p.abs() >= threshold, ((p.abs() - threshold).abs().min() / threshold).item()

    return select


def everything(p):
    return torch.ones_like(p, dtype=torch.bool), 1


def words(seed):
    """WORDS words, the smaller numbers more often, and the end of a line after LINE of them."""
    number = draw(seed, TEST, 1, 0, WORDS)
    rank = np.minimum(number >> np.uint64(28), number >> np.uint64(24) & np.uint64(15))
    text = []
    for i, r in enumerate(rank):
        text += [f"w{r}"] + (["<eos>"] if i % LINE == LINE - 1 else [])
    return text


def numbered(text):
    """0 is for unknown words and 1 for ends of lines; the others follow by frequency, then by where they first are."""
    first = {w: i for i, w in reversed(list(enumerate(text))) if w != "<eos>"}
    count = Counter(text)
    order = sorted(first, key=lambda w: (-count[w], first[w]))
    number = {"<eos>": 1, **{w: 2 + i for i, w in enumerate(order)}}
    return [number[w] for w in text], 2 + len(order)


def first_weights(seed, count):
    """Multiples of 2^-23 from -1 to below 1, which floats hold exactly."""
    return (draw(seed, TEST, 0, 0, count) >> np.uint64(8)).astype(np.float64) * 2.0**-23 - 1


def set_weights(parameters, values):
    torch.nn.utils.vector_to_parameters(torch.tensor(values, dtype=parameters[0].dtype), parameters)


def train(model, parameters, loss_of, select, rate_of, optimizer, clip=None):
    """[(mean loss, mean |e|^2, entries sent by all workers)] of every step, and the smallest distance of a choice."""
    memory = [[torch.zeros_like(p) for p in parameters] for _ in range(WORKERS)]
    steps, nearest = [], 1
    for t in range(STEPS):
        total, losses, squares, entries = [torch.zeros_like(p) for p in parameters], 0, 0, 0
        for w in range(WORKERS):
            model.zero_grad()
            loss = loss_of(t, w)
            loss.backward()
            losses += loss.item()
            if clip:
                torch.nn.utils.clip_grad_norm_(parameters, clip)
            for i, parameter in enumerate(parameters):
                p = memory[w][i] + parameter.grad
                sent, near = select(p)
                if near > 0 or t > 0:  # the first gradients may be exact, and so may be their ties
                    nearest = min(nearest, near)
                total[i] += torch.where(sent, p, 0)
                memory[w][i] = torch.where(sent, 0, p)
                squares += (memory[w][i].double() ** 2).sum().item()
                entries += int(sent.sum())
        for parameter, sum_of_sent in zip(parameters, total):
            parameter.grad = sum_of_sent / WORKERS
        for group in optimizer.param_groups:
            group["lr"] = rate_of(t)
        optimizer.step()
        steps.append((losses / WORKERS, squares / WORKERS, entries))
    return steps, nearest


def flat(parameters):
    return torch.cat([p.detach().reshape(-1) for p in parameters]).double().numpy()


def apart(a, b):
    """How far b's steps and weights are from a's: of losses, of |e|^2, relative; of weights, to the largest change."""
    loss = max(abs(y[0] / x[0] - 1) for x, y in zip(a["steps"], b["steps"]))
    error = max(abs(y[1] - x[1]) / x[1] if x[1] else abs(y[1]) for x, y in zip(a["steps"], b["steps"]))
    weights = np.abs(b["weights"] - a["weights"]).max() / np.abs(a["weights"] - a["first"]).max()
    same = all(x[2] == y[2] for x, y in zip(a["steps"], b["steps"]))
    return [loss, error, weights] if same else [np.inf] * 3


def array(name, rows):
    print(f"static const {name} = {{")
    for row in rows:
        print("    " + row)
    print("};")


def write(script, numbers, methods):
    """methods: [(the run in double precision, in single precision)]. `numbers` are names and integers of the set-up."""
    print("/* Written by %s: PyTorch %s, NumPy %s, Python %s, double precision. */" % (
        script, torch.__version__, np.__version__, sys.version.split()[0]))
    print("/* clang-format off */")
    for name, value in dict(WORKERS=WORKERS, STEPS=STEPS, **numbers).items():
        print("enum { GOLDEN_%s = %d };" % (name, value))
    print("enum { GOLDEN_D = %d, GOLDEN_METHODS = %d };" % (len(methods[0][0]["weights"]), len(methods)))
    distance = np.max([apart(double, single) for double, single in methods], axis=0)
    print("/* How far the same trajectory in single precision is: losses and |e|^2 relatively, weights to the largest change.")
    print(" * A choice is nearest to another outcome at %.1e, relatively. */" % min(m[0]["nearest"] for m in methods))
    array("double golden_apart[3]", ["%.2g, %.2g, %.2g" % tuple(distance)])
    print("/* Of every step: mean loss, mean |e|^2, entries that all workers sent. */")
    rows = []
    for double, _ in methods:
        rows += ["{"] + ["{%.10g, %.10g, %d}," % step for step in double["steps"]] + ["},"]
    array("double golden_step[GOLDEN_METHODS][GOLDEN_STEPS][3]", rows)
    rows = []
    for double, _ in methods:
        w = double["weights"]
        rows += ["{"] + [" ".join("%.9g," % v for v in w[i : i + 10]) for i in range(0, len(w), 10)] + ["},"]
    array("double golden_weights[GOLDEN_METHODS][GOLDEN_D]", rows)


def main(script, run, methods, numbers, seed):
    """run(seed, method, precision): a dictionary of steps, weights, first, nearest. Arguments search FIRST LAST: how near
    choices come with these seeds, and how far single precision is."""
    pairs = lambda s: [(run(s, m, torch.float64), run(s, m, torch.float32)) for m in methods]
    if sys.argv[1:2] == ["search"]:
        for s in range(int(sys.argv[2]), int(sys.argv[3]) + 1):
            both = pairs(s)
            print(s, "%.2g" % min(m[0]["nearest"] for m in both), *["%.2g" % v for m in both for v in apart(*m)], flush=True)
    else:
        write(script, dict(numbers, SEED=seed), pairs(seed))
