"""Golden values of Adam and AdamW: PyTorch's, in double precision, on a few gradients.
usage: python3 tests/golden/adam_golden.py > tests/golden/adam_golden.h"""
# SPDX-License-Identifier: MIT
import sys

import torch

RATE, STEPS, SIZE = 0.0045, 5, 6
# beta1, beta2, epsilon, weight decay; of Adam, then of AdamW
CASES = {"adam": ((0.25, 0.5, 1e-8, 0), (0.9, 0.999, 1e-3, 0.0625)), "adamw": ((0.9, 0.95, 1e-8, 0.1), (0.25, 0.5, 1e-3, 4))}


def gradient(t):
    """Whole 64ths, zeros among them."""
    return torch.tensor([(3 * i * i + 5 * t + i * t) % 7 - 3 for i in range(SIZE)], dtype=torch.float64) / 64


def run(name, beta1, beta2, epsilon, decay):
    """x after each step."""
    x = (torch.arange(SIZE, dtype=torch.float64) / 4 - 0.5).requires_grad_()
    kind = {"adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[name]
    optimizer = kind([x], lr=RATE, betas=(beta1, beta2), eps=epsilon, weight_decay=decay)
    for t in range(STEPS):
        x.grad = gradient(t)
        optimizer.step()
        yield from x.tolist()


print("/* Written by adam_golden.py: PyTorch %s, Python %s, double precision. */" % (torch.__version__, sys.version.split()[0]))
print("/* clang-format off */")
print("enum { GOLDEN_STEPS = %d, GOLDEN_SIZE = %d };" % (STEPS, SIZE))
print("static const double GOLDEN_RATE = %g;" % RATE)
print("static const struct golden_adam {\n    const char *name;\n    double beta1, beta2, epsilon, decay, x[GOLDEN_STEPS * GOLDEN_SIZE];\n} golden_adam[] = {")
for name, cases in CASES.items():
    for case in cases:
        print('    {"%s", %g, %g, %g, %g, {%s}},' % (name, *case, ", ".join("%.12g" % v for v in run(name, *case))))
print("};")
