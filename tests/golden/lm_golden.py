"""Golden values of the language model: PyTorch in double precision, its own nn.LSTM, from the start and with the dropout
masks of our own generator. Two steps of training with the state carried between them, then an evaluation.
usage: python3 tests/golden/lm_golden.py > tests/golden/lm_golden.h"""
# SPDX-License-Identifier: MIT
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from philox import DROPOUT, INIT, draw, uniform

WORDS, EMBEDDING, HIDDEN, LAYERS, STEPS, BATCH, RATE, SEED = 23, 6, 9, 3, 5, 4, 0.4, 3


class Model(nn.Module):
    """github.com/pytorch/examples, word_language_model/model.py, tied; the last layer is as wide as the embedding."""

    def __init__(self):
        super().__init__()
        widths = [EMBEDDING] + [HIDDEN] * (LAYERS - 1) + [EMBEDDING]
        self.encoder = nn.Embedding(WORDS, EMBEDDING)
        self.rnns = nn.ModuleList(nn.LSTM(widths[i], widths[i + 1]) for i in range(LAYERS))
        self.decoder_bias = nn.Parameter(torch.zeros(WORDS))

    def forward(self, ids, state, drop):
        x, carried = drop(self.encoder(ids)), []
        for rnn, before in zip(self.rnns, state):
            x, after = rnn(x, before)
            x = drop(x)
            carried.append(tuple(v.detach() for v in after))
        return F.linear(x.reshape(-1, EMBEDDING), self.encoder.weight, self.decoder_bias), carried


def start(model):
    """lm_net_start, but for the decoder's bias, which is not 0 here."""
    for i, (name, p) in enumerate(model.parameters_in_order):
        bound = 0.1 if i == 0 else 1 / np.sqrt(p.shape[0] // 4)
        value = bound * (2 * uniform(SEED, INIT, i, 0, p.numel()) - 1)
        if name == "decoder_bias":
            value = (np.arange(WORDS) % 5 - 2) / 8
        p.data.copy_(torch.from_numpy(value.astype(np.float32).astype(np.float64)).view_as(p))


class Masks:
    """Dropout: one stream of numbers a step, taken in order."""

    def __init__(self, step):
        self.numbers, self.at = draw(SEED, DROPOUT, 0, step, 10**5), 0

    def __call__(self, x):
        kept = self.numbers[self.at : self.at + x.numel()].astype(np.float64) >= RATE * 2**32
        self.at += x.numel()
        return x * torch.from_numpy(np.where(kept, np.float64(np.float32(1 / (1 - RATE))), 0)).view_as(x)


def tokens(step):
    """[STEPS + 1][BATCH]"""
    return torch.tensor([[(7 * (step * STEPS + s) + 5 * c * c + s * c) % WORDS for c in range(BATCH)] for s in range(STEPS + 1)])


def array(name, values):
    values = values.detach().numpy().reshape(-1)
    print(f"static const double {name}[] = {{")
    for i in range(0, len(values), 8):
        print("    " + " ".join("%.9g," % v for v in values[i : i + 8]))
    print("};")


model = Model().double()
# nn.Module would put the decoder's bias first.
order = [("encoder", model.encoder.weight)]
order += [(n, p) for rnn in model.rnns for n, p in rnn.named_parameters()] + [("decoder_bias", model.decoder_bias)]
model.parameters_in_order = order
start(model)
state = [(torch.zeros(1, BATCH, r.hidden_size).double(),) * 2 for r in model.rnns]
for step in range(2):
    model.zero_grad()
    text = tokens(step)
    logits, state = model(text[:-1], state, Masks(step))
    loss = F.cross_entropy(logits, text[1:].reshape(-1))
    loss.backward()
with torch.no_grad():
    tested, _ = model(tokens(2)[:-1], state, lambda x: x)

print("/* Written by lm_golden.py: PyTorch %s, NumPy %s, Python %s, double precision. */" % (
    torch.__version__, np.__version__, sys.version.split()[0]))
print("/* clang-format off */")
for name in ("WORDS", "EMBEDDING", "HIDDEN", "LAYERS", "STEPS", "BATCH", "SEED"):
    print("enum { GOLDEN_%s = %d };" % (name, globals()[name]))
print("static const double GOLDEN_RATE = %g;" % RATE)
print("static const double golden_loss = %.9g; /* of the second step, as all that follows but the last */" % loss.item())
array("golden_logits", logits)
array("golden_state", torch.cat([v.reshape(-1) for layer in state for v in layer]))
array("golden_gradient", torch.cat([p.grad.reshape(-1) for _, p in order]))
array("golden_tested", tested)
