"""Golden values of ten training steps of the transformer with error feedback, after lockstep.py: windows drawn at random,
attention by nn.MultiheadAttention, clipping before the feedback, AdamW without decay of vectors, warm-up and a cosine.
usage: python3 tests/golden/gpt_steps_golden.py > tests/golden/gpt_steps_golden.h
       python3 tests/golden/gpt_steps_golden.py search FIRST LAST: how good these seeds are"""
# SPDX-License-Identifier: MIT
import functools
import math

import torch
import torch.nn.functional as F
from torch import nn

import lockstep
from lockstep import LINE, WORDS
from philox import SAMPLE, below

WIDTH, HEADS, LAYERS, CONTEXT, BATCH, SEED = 8, 2, 2, 6, 2, 3
CLIP, RATE, WARM_UP, WARM_FROM, DECAY_TO = 2, 0.0625, 0.5, 0.25, 0.125
BETAS, EPSILON, DECAY = (0.75, 0.875), 0.0009765625, 0.5
METHODS = [lockstep.everything, lockstep.top_k(0.05), lockstep.hard_threshold(0.0625)]


class Block(nn.Module):
    """Parameters in the order of their names in GPT-2: those of nn.MultiheadAttention are c_attn and c_proj."""

    def __init__(self):
        super().__init__()
        self.ln_1 = nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, HEADS, batch_first=True)
        self.ln_2 = nn.LayerNorm(WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x, mask):
        y = self.ln_1(x)
        x = x + self.attention(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class Model(nn.Module):
    def __init__(self, vocabulary):
        super().__init__()
        self.wte = nn.Embedding(vocabulary, WIDTH)
        self.wpe = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln_f = nn.LayerNorm(WIDTH)
        self.mask = torch.ones(CONTEXT, CONTEXT, dtype=torch.bool).triu(1)

    def forward(self, ids):
        x = self.wte(ids) + self.wpe(torch.arange(CONTEXT))
        for block in self.blocks:
            x = block(x, self.mask)
        return F.linear(self.ln_f(x), self.wte.weight)


class Setting:
    """The text, a model with its first weights, and what a step needs."""

    def __init__(self, seed, dtype):
        numbers, self.vocabulary = lockstep.numbered(lockstep.words(seed))
        self.text = torch.tensor(numbers)
        self.epoch = len(numbers) // (lockstep.WORKERS * BATCH * CONTEXT)
        self.model = Model(self.vocabulary).to(dtype)
        self.parameters = list(self.model.parameters())
        self.first = lockstep.first_weights(seed, sum(p.numel() for p in self.parameters))
        lockstep.set_weights(self.parameters, self.first)

    def loss_of(self, model, step, worker):
        seed_of_run = 1  # of the recipe
        at = below(seed_of_run, SAMPLE, worker, step, len(self.text) - CONTEXT, BATCH)
        rows = torch.stack([self.text[a : a + CONTEXT + 1] for a in at])
        return F.cross_entropy(model(rows[:, :-1]).reshape(-1, self.vocabulary), rows[:, 1:].reshape(-1))

    def rate_of(self, step):
        at, end = step / self.epoch, lockstep.STEPS / self.epoch
        if at < WARM_UP:
            return RATE * (WARM_FROM + (1 - WARM_FROM) * at / WARM_UP)
        return RATE * (DECAY_TO + (1 - DECAY_TO) * (1 + math.cos(math.pi * (at - WARM_UP) / (end - WARM_UP))) / 2)


def adamw(model):
    parameters = list(model.parameters())
    groups = [{"params": [p for p in parameters if (p.dim() > 1) == many], "weight_decay": DECAY * many} for many in (True, False)]
    return torch.optim.AdamW(groups, betas=BETAS, eps=EPSILON)


def run(seed, select, dtype):
    s = Setting(seed, dtype)
    loss_of = functools.partial(s.loss_of, s.model)
    steps, nearest = lockstep.train(s.model, s.parameters, loss_of, select, s.rate_of, adamw(s.model), CLIP)
    return dict(steps=steps, nearest=nearest, first=s.first, weights=lockstep.flat(s.parameters))


numbers = dict(WORDS=WORDS, LINE=LINE)
if __name__ == "__main__":
    lockstep.main("gpt_steps_golden.py", run, METHODS, numbers, SEED)
