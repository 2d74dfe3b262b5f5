"""Golden values of two rounds of DiLoCo (arXiv 2311.08105, algorithm 1) with the transformer of gpt_steps_golden.py: five
steps of AdamW on each worker's own model, then PyTorch's SGD with nesterov=True on what all share, whose gradient is the
mean of what is sent of shared - own and of a residual with a decay.
usage: python3 tests/golden/gpt_diloco_golden.py > tests/golden/gpt_diloco_golden.h
       python3 tests/golden/gpt_diloco_golden.py search FIRST LAST: how good these seeds are"""
# SPDX-License-Identifier: MIT
import copy

import torch

import gpt_steps_golden as gpt
import lockstep

INTERVAL, DECAY, OUTER_RATE, OUTER_MOMENTUM, SEED = 5, 0.75, 0.7, 0.9, 7
METHODS = [lockstep.everything, lockstep.top_k(0.05), lockstep.hard_threshold(2)]


def run(seed, select, dtype):
    s = gpt.Setting(seed, dtype)
    models = [copy.deepcopy(s.model) for _ in range(lockstep.WORKERS)]
    inner = [gpt.adamw(model) for model in models]
    outer = torch.optim.SGD(s.parameters, lr=OUTER_RATE, momentum=OUTER_MOMENTUM, nesterov=True)
    memory = [[torch.zeros_like(p) for p in s.parameters] for _ in models]
    steps, nearest = [], 1
    for t in range(lockstep.STEPS):
        losses, entries = 0, 0
        for w, (model, optimizer) in enumerate(zip(models, inner)):
            optimizer.zero_grad()
            loss = s.loss_of(model, t, w)
            loss.backward()
            losses += loss.item()
            torch.nn.utils.clip_grad_norm_(model.parameters(), gpt.CLIP)
            for group in optimizer.param_groups:
                group["lr"] = s.rate_of(t)
            optimizer.step()
        if (t + 1) % INTERVAL == 0:
            total = [torch.zeros_like(p) for p in s.parameters]
            with torch.no_grad():
                for own, kept in zip(models, memory):
                    for i, (parameter, mine) in enumerate(zip(s.parameters, own.parameters())):
                        p = DECAY * kept[i] + (parameter - mine)
                        sent, near = select(p / s.rate_of(t))  # thresholds are in units of a gradient
                        nearest = min(nearest, near)
                        total[i] += torch.where(sent, p, 0)
                        kept[i] = torch.where(sent, 0, p)
                        entries += int(sent.sum())
            for parameter, sum_of_sent in zip(s.parameters, total):
                parameter.grad = sum_of_sent / lockstep.WORKERS
            outer.step()
            for model in models:
                lockstep.set_weights(list(model.parameters()), lockstep.flat(s.parameters))
        squares = sum((e.double() ** 2).sum().item() for kept in memory for e in kept)
        steps.append((losses / lockstep.WORKERS, squares / lockstep.WORKERS, entries))
    return dict(steps=steps, nearest=nearest, first=s.first, weights=lockstep.flat(s.parameters))


lockstep.main("gpt_diloco_golden.py", run, METHODS, gpt.numbers, SEED)
