"""Golden values of ten training steps of the language model with error feedback, after lockstep.py: text, vocabulary,
columns, state carried and zeroed, clipping before the feedback, warm-up and decay.
usage: python3 tests/golden/lm_steps_golden.py > tests/golden/lm_steps_golden.h
       python3 tests/golden/lm_steps_golden.py search FIRST LAST: how good these seeds are"""
# SPDX-License-Identifier: MIT
import torch
import torch.nn.functional as F
from torch import nn

import lockstep
from lockstep import LINE, WORDS

EMBEDDING, HIDDEN, LAYERS, BPTT, BATCH, SEED = 4, 5, 2, 4, 2, 2
CLIP, RATE, SCALE, WARM_UP, DECAY_AT, DECAY = 0.4, 0.5, 4, 0.5, 1, 0.25
METHODS = [lockstep.everything, lockstep.top_k(0.05), lockstep.hard_threshold(0.0625)]


class Model(nn.Module):
    """Tied; the last layer is as wide as the embedding."""

    def __init__(self, vocabulary):
        super().__init__()
        widths = [EMBEDDING] + [HIDDEN] * (LAYERS - 1) + [EMBEDDING]
        self.encoder = nn.Embedding(vocabulary, EMBEDDING)
        self.rnns = nn.ModuleList(nn.LSTM(widths[i], widths[i + 1]) for i in range(LAYERS))
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, ids, state):
        x, carried = self.encoder(ids), []
        for rnn, before in zip(self.rnns, state):
            x, after = rnn(x, before)
            carried.append(tuple(v.detach() for v in after))
        return F.linear(x.reshape(-1, EMBEDDING), self.encoder.weight, self.bias), carried

    def zeros(self, dtype):
        return [(torch.zeros(1, BATCH, r.hidden_size, dtype=dtype),) * 2 for r in self.rnns]


def run(seed, select, dtype):
    text, vocabulary = lockstep.numbered(lockstep.words(seed))
    length = len(text) // (lockstep.WORKERS * BATCH)
    column = torch.tensor(text[: length * lockstep.WORKERS * BATCH]).view(lockstep.WORKERS, BATCH, length)
    windows = (length - 1) // BPTT
    model = Model(vocabulary).to(dtype)
    parameters = [model.encoder.weight, *model.rnns.parameters(), model.bias]
    first = lockstep.first_weights(seed, sum(p.numel() for p in parameters))
    lockstep.set_weights(parameters, first)
    states = [None] * lockstep.WORKERS

    def loss_of(step, worker):
        if step % windows == 0:
            states[worker] = model.zeros(dtype)
        at = step % windows * BPTT
        logits, states[worker] = model(column[worker, :, at : at + BPTT].t(), states[worker])
        return F.cross_entropy(logits, column[worker, :, at + 1 : at + BPTT + 1].t().reshape(-1))

    def rate_of(step):
        epoch = step / windows
        factor = 1 + (SCALE - 1) * epoch / WARM_UP if epoch < WARM_UP else SCALE
        return RATE * factor * (DECAY if epoch >= DECAY_AT else 1)

    steps, nearest = lockstep.train(model, parameters, loss_of, select, rate_of, torch.optim.SGD(parameters), CLIP)
    return dict(steps=steps, nearest=nearest, first=first, weights=lockstep.flat(parameters))


numbers = dict(WORDS=WORDS, LINE=LINE)
lockstep.main("lm_steps_golden.py", run, METHODS, numbers, SEED)
