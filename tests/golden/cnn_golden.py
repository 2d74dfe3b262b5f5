"""Golden values of the convolutional networks: PyTorch in double precision, from models written as their publishers
wrote them (names and shapes) and from the start, images and dropout masks of our own generator, here in NumPy.
usage: python3 tests/golden/cnn_golden.py > tests/golden/cnn_golden.h
       python3 tests/golden/cnn_golden.py search MODEL CLASSES FIRST LAST: which seed is best for CASES

A vector (a layer's gradient, the statistics of a batch-norm) is represented by its length and by its scalar products
with PROJECTIONS vectors of random signs: if two vectors differ by u, their products differ by |u| in the root mean square.

A ReLU near 0 and a maximum with a close second have gradients that rounding decides. So batch-norms get biases of
+-1, and of some seeds the one is taken whose nearest such place is farthest away, in deviations of its layer.
GoogLeNet's million windows leave no such seed: PyTorch's own single precision is off by 1e-2 there."""
# SPDX-License-Identifier: MIT
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from philox import DROPOUT, INIT, TEST, draw, uniform

COUNT, PROJECTIONS, RATE = 2, 2, 0.01
CASES = {("resnet8", 10): 7, ("resnet20", 10): 3, ("resnet18", 10): 2, ("senet18", 10): 3, ("seresnet18", 10): 1,
         ("googlenet", 10): 4, ("googlenet-deep", 100): 1}  # seeds

# ---- the models ------------------------------------------------------------------------------------------------------


class BasicBlock(nn.Module):
    """github.com/kuangliu/pytorch-cifar, models/resnet.py"""

    def __init__(self, cin, c, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(cin, c, 3, stride, 1, bias=False), nn.BatchNorm2d(c)
        self.conv2, self.bn2 = nn.Conv2d(c, c, 3, 1, 1, bias=False), nn.BatchNorm2d(c)
        self.shortcut = nn.Sequential()
        if stride != 1 or cin != c:
            self.shortcut = nn.Sequential(nn.Conv2d(cin, c, 1, stride, bias=False), nn.BatchNorm2d(c))

    def forward(self, x):
        return relu(self.bn2(self.conv2(relu(self.bn1(self.conv1(x))))) + self.shortcut(x))


class PreActBlock(nn.Module):
    """github.com/kuangliu/pytorch-cifar, models/senet.py"""

    def __init__(self, cin, c, stride):
        super().__init__()
        self.bn1, self.conv1 = nn.BatchNorm2d(cin), nn.Conv2d(cin, c, 3, stride, 1, bias=False)
        self.bn2, self.conv2 = nn.BatchNorm2d(c), nn.Conv2d(c, c, 3, 1, 1, bias=False)
        self.shortcut = None
        if stride != 1 or cin != c:
            self.shortcut = nn.Sequential(nn.Conv2d(cin, c, 1, stride, bias=False))
        self.fc1, self.fc2 = nn.Conv2d(c, c // 16, 1), nn.Conv2d(c // 16, c, 1)

    def forward(self, x):
        out = relu(self.bn1(x))
        shortcut = self.shortcut(out) if self.shortcut else x
        out = self.conv2(relu(self.bn2(self.conv1(out))))
        w = torch.sigmoid(self.fc2(relu(self.fc1(F.avg_pool2d(out, out.size(2))))))
        return out * w + shortcut


class SEBlock(nn.Module):
    """github.com/weiaicunzai/pytorch-cifar100, models/senet.py, BasicResidualSEBlock"""

    def __init__(self, cin, c, stride):
        super().__init__()
        self.residual = nn.Sequential(nn.Conv2d(cin, c, 3, stride, 1), nn.BatchNorm2d(c), Relu(),
                                      nn.Conv2d(c, c, 3, 1, 1), nn.BatchNorm2d(c), Relu())
        self.shortcut = nn.Sequential()
        if stride != 1 or cin != c:
            self.shortcut = nn.Sequential(nn.Conv2d(cin, c, 1, stride), nn.BatchNorm2d(c))
        self.excitation = nn.Sequential(nn.Linear(c, c // 16), Relu(), nn.Linear(c // 16, c), nn.Sigmoid())

    def forward(self, x):
        residual = self.residual(x)
        w = self.excitation(residual.mean((2, 3)))
        return relu(residual * w[:, :, None, None] + self.shortcut(x))


class Residual(nn.Module):
    def __init__(self, block, channels, repeat, classes):
        super().__init__()
        if block is SEBlock:
            self.pre = nn.Sequential(nn.Conv2d(3, 64, 3, 1, 1), nn.BatchNorm2d(64), Relu())
        else:
            self.conv1, self.bn1 = nn.Conv2d(3, channels[0], 3, 1, 1, bias=False), nn.BatchNorm2d(channels[0])
        cin, self.stages = channels[0], len(channels)
        for i, c in enumerate(channels):
            blocks = []
            for j in range(repeat):
                blocks.append(block(cin, c, 2 if i and not j else 1))
                cin = c
            setattr(self, f"layer{i + 1}", nn.Sequential(*blocks))
        self.linear = nn.Linear(cin, classes)

    def forward(self, x, mask):
        x = self.pre(x) if hasattr(self, "pre") else relu(self.bn1(self.conv1(x)))
        for i in range(self.stages):
            x = getattr(self, f"layer{i + 1}")(x)
        return self.linear(x.mean((2, 3)))


def units(*shapes, before=()):
    layers = list(before)
    for cin, c, kernel in shapes:
        layers += [nn.Conv2d(cin, c, kernel, padding=kernel // 2), nn.BatchNorm2d(c), Relu()]
    return nn.Sequential(*layers)


class Inception(nn.Module):
    """github.com/kuangliu/pytorch-cifar, models/googlenet.py"""

    def __init__(self, cin, n1, n3red, n3, n5red, n5, pool):
        super().__init__()
        self.b1 = units((cin, n1, 1))
        self.b2 = units((cin, n3red, 1), (n3red, n3, 3))
        self.b3 = units((cin, n5red, 1), (n5red, n5, 3), (n5, n5, 3))
        self.b4 = units((cin, pool, 1), before=[MaxPool(1)])

    def forward(self, x):
        return torch.cat([self.b1(x), self.b2(x), self.b3(x), self.b4(x)], 1)


class GoogLeNet(nn.Module):
    """The same; deep: github.com/weiaicunzai/pytorch-cifar100, models/googlenet.py"""

    def __init__(self, classes, deep=False):
        super().__init__()
        self.deep = deep
        if self.deep:
            layers = []
            for cin, c in ((3, 64), (64, 64), (64, 192)):
                layers += [nn.Conv2d(cin, c, 3, padding=1, bias=False), nn.BatchNorm2d(c), Relu()]
            self.prelayer = nn.Sequential(*layers)
        else:
            self.pre_layers = units((3, 192, 3))
        for name, cin, row in (
            ("a3", 192, (64, 96, 128, 16, 32, 32)), ("b3", 256, (128, 128, 192, 32, 96, 64)),
            ("a4", 480, (192, 96, 208, 16, 48, 64)), ("b4", 512, (160, 112, 224, 24, 64, 64)),
            ("c4", 512, (128, 128, 256, 24, 64, 64)), ("d4", 512, (112, 144, 288, 32, 64, 64)),
            ("e4", 528, (256, 160, 320, 32, 128, 128)), ("a5", 832, (256, 160, 320, 32, 128, 128)),
            ("b5", 832, (384, 192, 384, 48, 128, 128)),
        ):
            setattr(self, name, Inception(cin, *row))
        self.pool = MaxPool(2)
        self.linear = nn.Linear(1024, classes)

    def forward(self, x, mask):
        x = self.pool(self.prelayer(x)) if self.deep else self.pre_layers(x)
        x = self.pool(self.b3(self.a3(x)))
        x = self.pool(self.e4(self.d4(self.c4(self.b4(self.a4(x))))))
        x = self.b5(self.a5(x)).mean((2, 3))
        return self.linear(x * mask if self.deep and self.training else x)


# Distance of a run to the nearest place where a gradient jumps, in deviations of the tensor that is looked at.
nearest = np.inf


def keep_away(distance, x):
    global nearest
    if distance.numel():
        nearest = min(nearest, (distance.min() / x.std()).item())


def relu(x):
    y = x.detach()
    keep_away(y[y != 0].abs(), y)
    return F.relu(x)


class Relu(nn.Module):
    def forward(self, x):
        return relu(x)


class MaxPool(nn.Module):
    def __init__(self, stride):
        super().__init__()
        self.stride = stride

    def forward(self, x):
        y = F.unfold(x.detach(), 3, padding=1, stride=self.stride).view(len(x), x.size(1), 9, -1)
        first = y.amax(2, keepdim=True)  # equal values are one value seen through two windows of the layer before
        gap = first - torch.where(y == first, -1e9, y).amax(2, keepdim=True)
        keep_away(gap[first > 0], x.detach())
        return F.max_pool2d(x, 3, self.stride, 1)


MODELS = {
    "resnet8": lambda classes: Residual(BasicBlock, (16, 32, 64), 1, classes),
    "resnet20": lambda classes: Residual(BasicBlock, (16, 32, 64), 3, classes),
    "resnet18": lambda classes: Residual(BasicBlock, (64, 128, 256, 512), 2, classes),
    "googlenet": GoogLeNet,
    "googlenet-deep": lambda classes: GoogLeNet(classes, True),
    "senet18": lambda classes: Residual(PreActBlock, (64, 128, 256, 512), 2, classes),
    "seresnet18": lambda classes: Residual(SEBlock, (64, 128, 256, 516), 2, classes),
}

# ---- one case --------------------------------------------------------------------------------------------------------


def norms(model):
    return [m for m in model.modules() if isinstance(m, nn.BatchNorm2d)]


def start(model, seed):
    """cnn_net_start, but batch-norms away from 1 and 0."""
    of_norm = {id(p): kind for m in norms(model) for p, kind in ((m.weight, "weight"), (m.bias, "bias"))}
    fan_in = 0
    for i, p in enumerate(model.parameters()):
        j = np.arange(p.numel())
        if of_norm.get(id(p)) == "weight":
            value = 1 + (7 * j % 16 - 8) / 32
        elif of_norm.get(id(p)) == "bias":
            value = np.where(j % 4 == 3, -1.0, 1.0)
        else:
            fan_in = p[0].numel() if p.dim() > 1 else fan_in
            value = (2 * uniform(seed, INIT, i, 0, p.numel()) - 1) / np.sqrt(fan_in)
        p.data.copy_(torch.from_numpy(value.astype(np.float32).astype(np.float64)).view_as(p))


def batch(seed, step, classes):
    images = (2 * uniform(seed, TEST, 0, step, COUNT * 32 * 32 * 3) - 1).astype(np.float32)
    labels = [(3 * step + 7 * i) % classes for i in range(COUNT)]
    return torch.from_numpy(images.astype(np.float64)).view(COUNT, 32, 32, 3).permute(0, 3, 1, 2), torch.tensor(labels)


def dropout(seed, step):
    kept = draw(seed, DROPOUT, 0, step, COUNT * 1024).astype(np.float64) >= 0.4 * 2**32
    return torch.from_numpy(np.where(kept, np.float64(np.float32(1 / 0.6)), 0)).view(COUNT, 1024)


def sketch(vector):
    vector, out = vector.detach().numpy().reshape(-1), []
    for p in range(PROJECTIONS):
        words = draw(0, TEST, 1, p, -(-vector.size // 32))
        signs = (words[:, None] >> np.arange(32, dtype=np.uint64) & np.uint64(1)).reshape(-1)[: vector.size]
        out.append(np.dot(2.0 * signs - 1, vector))
    return [np.linalg.norm(vector)] + out


def run(name, classes, seed, only_distance):
    """One step of training with gradients, a second forward pass for the statistics, an evaluation with them."""
    global nearest
    nearest = np.inf
    model = MODELS[name](classes).double()
    start(model, seed)
    images, labels = batch(seed, 0, classes)
    with torch.set_grad_enabled(not only_distance):
        logits = model(images, dropout(seed, 0))
    distance = nearest
    if only_distance:
        return distance
    loss = F.cross_entropy(logits, labels)
    loss.backward()
    gradients = [sketch(p.grad) for p in model.parameters()]
    with torch.no_grad():
        for p in model.parameters():
            p -= RATE * p.grad
        model(batch(seed, 1, classes)[0], dropout(seed, 1))
        statistics = [sketch(torch.cat([m.running_mean, m.running_var])) for m in norms(model)]
        model.eval()
        tested = model(images, None)
    return distance, model, loss.item(), logits.detach(), gradients, statistics, tested


def numbers(values):
    return ", ".join("%.9g" % v for v in values)


if sys.argv[1:2] == ["search"]:
    for seed in range(int(sys.argv[4]), int(sys.argv[5]) + 1):
        print(*sys.argv[2:4], seed, run(sys.argv[2], int(sys.argv[3]), seed, True), flush=True)
    sys.exit()
print("/* Written by cnn_golden.py: PyTorch %s, NumPy %s, Python %s, double precision. */" % (
    torch.__version__, np.__version__, sys.version.split()[0]))
print("#include <stddef.h>\n#include <stdint.h>\n/* clang-format off */")
print("enum { GOLDEN_COUNT = %d, GOLDEN_PROJECTIONS = %d };" % (COUNT, PROJECTIONS))
print("static const double GOLDEN_RATE = %g;" % RATE)
print("struct golden_vector { double length, projection[GOLDEN_PROJECTIONS]; };")
cases = []
for (name, classes), seed in CASES.items():
    distance, model, loss, logits, gradients, statistics, tested = run(name, classes, seed, False)
    print(name, classes, "seed", seed, "distance", distance, file=sys.stderr)
    tag = f"{name}_{classes}".replace("-", "_")
    for kind, rows in (("gradient", gradients), ("statistics", statistics)):
        print(f"static const struct golden_vector golden_{kind}_{tag}[] = {{")
        for row in rows:
            print("    {%s, {%s}}," % (numbers(row[:1]), numbers(row[1:])))
        print("};")
    for kind, value in (("logits", logits), ("tested", tested)):
        print(f"static const double golden_{kind}_{tag}[] = {{{numbers(value.reshape(-1))}}};")
    cases.append('    {"%s", %d, %d, %.9g, %d, golden_gradient_%s, %d, golden_statistics_%s, golden_logits_%s, golden_tested_%s},'
                 % (name, classes, seed, loss, len(gradients), tag, len(statistics), tag, tag, tag))
print("""static const struct golden_cnn {
    const char *model;
    int64_t classes;
    uint64_t seed;
    double loss;
    size_t n_layers;
    const struct golden_vector *gradient; /* [n_layers] */
    size_t n_norms;
    const struct golden_vector *statistics; /* [n_norms] means and variances after two steps */
    const double *logits, *tested;          /* [GOLDEN_COUNT][classes] in the first step; evaluated after the second */
} golden_cnn[] = {""")
print("\n".join(cases))
print("};")
