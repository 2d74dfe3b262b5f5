"""Golden values of NeuMF: PyTorch in double precision, the model as its reference has it (names, shapes, order),
from the start and the dropout masks of our own generator, here in NumPy.
usage: python3 tests/golden/ncf_golden.py > tests/golden/ncf_golden.h
       python3 tests/golden/ncf_golden.py search FIRST LAST: which seed is best for SEED

The net is small enough to write its gradient down in full. A ReLU near 0 has a gradient that rounding decides, so of some
seeds the one is taken whose nearest such place is farthest away."""
# SPDX-License-Identifier: MIT
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from philox import DROPOUT, INIT, draw, normal, uniform

USERS, ITEMS, FACTORS, MLP, RATE, COUNT = 5, 7, 3, (8, 6, 4), 0.25, 6
SEED = 14
nearest = np.inf


class NeuMF(nn.Module):
    """github.com/NVIDIA/DeepLearningExamples, PyTorch/Recommendation/NCF, neumf.py"""

    def __init__(self, users, items, factors, mlp):
        super().__init__()
        self.mf_user_embed, self.mf_item_embed = nn.Embedding(users, factors), nn.Embedding(items, factors)
        self.mlp_user_embed, self.mlp_item_embed = nn.Embedding(users, mlp[0] // 2), nn.Embedding(items, mlp[0] // 2)
        self.mlp = nn.ModuleList(nn.Linear(mlp[i - 1], mlp[i]) for i in range(1, len(mlp)))
        self.final = nn.Linear(mlp[-1] + factors, 1)

    def forward(self, user, item, masks):
        global nearest
        xmf = self.mf_user_embed(user) * self.mf_item_embed(item)
        x = torch.cat((self.mlp_user_embed(user), self.mlp_item_embed(item)), dim=1)
        for layer, mask in zip(self.mlp, masks):
            x = layer(x)
            nearest = min(nearest, (x.detach().abs().min() / x.detach().std()).item())
            x = F.relu(x) * mask
        return self.final(torch.cat((xmf, x), dim=1))


def start(model, seed):
    """ncf_net_start, but tables a hundred times as large, so that all paths matter."""
    for i, (name, p) in enumerate(model.named_parameters()):
        if i < 4:
            value = 0.01 * normal(seed, INIT, i, 0, p.numel())
            value = 100 * value.astype(np.float32).astype(np.float64)
        else:
            if name.endswith("weight"):
                outputs, inputs = p.shape
                bound = np.sqrt(3 / inputs) if name.startswith("final") else np.sqrt(6 / (inputs + outputs))
            else:
                bound = 1 / np.sqrt(inputs)
            value = bound * (2 * uniform(seed, INIT, i, 0, p.numel()) - 1)
        p.data.copy_(torch.from_numpy(value.astype(np.float32).astype(np.float64)).view_as(p))


def batch():
    """Users and items repeat, so that rows add up."""
    i = np.arange(COUNT)
    return torch.tensor(i * 2 % USERS % 4), torch.tensor(i * i % ITEMS), torch.tensor((i % 3 == 0) * 1.0).double()


def dropout(seed):
    sizes = [COUNT * n for n in MLP[1:]]
    kept = draw(seed, DROPOUT, 0, 0, sum(sizes)).astype(np.float64) >= RATE * 2**32
    value = np.where(kept, np.float64(np.float32(1 / (1 - RATE))), 0)
    return [torch.from_numpy(v.reshape(COUNT, -1)) for v in np.split(value, np.cumsum(sizes)[:-1])]


def run(seed):
    global nearest
    nearest = np.inf
    model = NeuMF(USERS, ITEMS, FACTORS, MLP).double()
    start(model, seed)
    user, item, label = batch()
    logits = model(user, item, dropout(seed))
    loss = F.binary_cross_entropy_with_logits(logits.view(-1), label)
    loss.backward()
    tested = model(user, item, [1.0] * len(MLP))
    gradient = torch.cat([p.grad.reshape(-1) for p in model.parameters()])
    return nearest, loss.item(), tested.detach().view(-1), gradient


def numbers(values):
    return ", ".join("%.9g" % v for v in values)


if sys.argv[1:2] == ["search"]:
    for seed in range(int(sys.argv[2]), int(sys.argv[3]) + 1):
        print(seed, run(seed)[0])
    sys.exit()
_, loss, tested, gradient = run(SEED)
print("/* Written by ncf_golden.py: PyTorch %s, NumPy %s, Python %s, double precision. */" % (
    torch.__version__, np.__version__, sys.version.split()[0]))
print("/* clang-format off */")
print("enum { GOLDEN_USERS = %d, GOLDEN_ITEMS = %d, GOLDEN_FACTORS = %d, GOLDEN_COUNT = %d, GOLDEN_SEED = %d };" % (
    USERS, ITEMS, FACTORS, COUNT, SEED))
print('static const char GOLDEN_MLP[] = "%s";' % "-".join(map(str, MLP)))
print("static const double GOLDEN_DROPOUT = %g, golden_loss = %.9g;" % (RATE, loss))
print("static const double golden_tested[] = {%s};" % numbers(tested))
print("static const double golden_gradient[] = {%s};" % numbers(gradient))
