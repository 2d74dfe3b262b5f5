"""Golden values of ten training steps of NeuMF with error feedback and Adam, after lockstep.py: the split of the ratings,
negatives anew every epoch, the shuffle. The last layer is 0 at first, so every logit is, and the first gradients are
exact: biases' are multiples of 1/16, and some are as large as the threshold.
usage: python3 tests/golden/ncf_steps_golden.py > tests/golden/ncf_steps_golden.h
       python3 tests/golden/ncf_steps_golden.py search FIRST LAST: how good these seeds are"""
# SPDX-License-Identifier: MIT
import torch
import torch.nn.functional as F
from torch import nn

import lockstep
from philox import NEGATIVE, SHARD, below, shuffled

USERS, ITEMS, FACTORS, MLP, NEGATIVES, BATCH, SEED = 8, 26, 3, (8, 6, 4), 2, 16, 5
RATE, BETAS = 0.125, (0.25, 0.5)
METHODS = [lockstep.everything, lockstep.top_k(0.05), lockstep.hard_threshold(0.0625)]


def ratings():
    """[(user, item)] to train on: of 26 items each user rates some 21; the last one is for testing."""
    pairs = []
    for user in range(USERS):
        rated = [i for i in range(ITEMS) if (i + 2 * user) % 5]
        pairs += [(user, i) for i in rated[:-1]]
    return pairs


class NeuMF(nn.Module):
    def __init__(self):
        super().__init__()
        self.mf_user, self.mf_item = nn.Embedding(USERS, FACTORS), nn.Embedding(ITEMS, FACTORS)
        self.mlp_user, self.mlp_item = nn.Embedding(USERS, MLP[0] // 2), nn.Embedding(ITEMS, MLP[0] // 2)
        self.mlp = nn.ModuleList(nn.Linear(MLP[i - 1], MLP[i]) for i in range(1, len(MLP)))
        self.final = nn.Linear(FACTORS + MLP[-1], 1)
        self.nearest = 1

    def forward(self, user, item):
        x = torch.cat((self.mlp_user(user), self.mlp_item(item)), dim=1)
        for layer in self.mlp:
            x = layer(x)
            self.nearest = min(self.nearest, x.detach().abs().min().item())
            x = F.relu(x)
        return self.final(torch.cat((self.mf_user(user) * self.mf_item(item), x), dim=1)).view(-1)


def run(seed, select, dtype):
    rated = ratings()
    count = len(rated) * (1 + NEGATIVES)
    windows = count // lockstep.WORKERS // BATCH
    model = NeuMF().to(dtype)
    parameters = list(model.parameters())
    first = lockstep.first_weights(seed, sum(p.numel() for p in parameters))
    first[-(FACTORS + MLP[-1] + 1) :] = 0
    lockstep.set_weights(parameters, first)
    orders = {}

    def loss_of(step, worker):
        epoch, window = divmod(step, windows)
        if epoch not in orders:
            orders[epoch] = shuffled(seed, SHARD, 0, epoch, count)
        at = (window * lockstep.WORKERS + worker) * BATCH
        users, items, labels = [], [], []
        for i in orders[epoch][at : at + BATCH]:
            user, item = rated[i % len(rated)]
            users.append(user)
            items.append(item if i < len(rated) else below(seed, NEGATIVE, 0, epoch * count + i, ITEMS))
            labels.append(float(i < len(rated)))
        if step < 2:  # the first pass is exact, and at the second only the last layer has moved
            model.nearest = 1
        logits = model(torch.tensor(users), torch.tensor(items))
        return F.binary_cross_entropy_with_logits(logits, torch.tensor(labels, dtype=dtype))

    optimizer = torch.optim.Adam(parameters, betas=BETAS, eps=1e-8)
    steps, nearest = lockstep.train(model, parameters, loss_of, select, lambda step: RATE, optimizer)
    return dict(steps=steps, nearest=min(nearest, model.nearest), first=first, weights=lockstep.flat(parameters))


numbers = {name: globals()[name] for name in ("USERS", "ITEMS")}
numbers["LAST"] = FACTORS + MLP[-1] + 1
lockstep.main("ncf_steps_golden.py", run, METHODS, numbers, SEED)
