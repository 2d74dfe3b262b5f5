"""Golden values of Muon: PyTorch's, whose products are in double precision here in place of bfloat16, on matrices of each
form and a vector, which AdamW moves as its authors have it; and how far the steps in bfloat16 are from these.
usage: python3 tests/golden/muon_golden.py > tests/golden/muon_golden.h (PyTorch 2.9 or newer)"""
# SPDX-License-Identifier: MIT
import sys

import torch

RATE, STEPS, VECTOR_RATE = 0.0625, 4, 0.25
SHAPES = ((4, 6), (6, 4), (5, 5), (3,))
# momentum, nesterov, weight decay, steps of Newton and Schulz, whether the rate matches AdamW's
CASES = ((0.95, 1, 0.1, 5, 0), (0.5, 0, 2, 3, 1), (0.75, 1, 0, 5, 1))


def gradient(t, shape, at):
    """Whole 64ths, which no step of a matrix repeats."""
    n = torch.Size(shape).numel()
    return torch.tensor([((at + i) * (at + i) * 5 + 11 * t + (at + i) * t) % 17 - 8 for i in range(n)], dtype=torch.float64).view(shape) / 64


def run(momentum, nesterov, decay, times, matches):
    """All numbers of x after each step."""
    start, x = 0, []
    for shape in SHAPES:
        n = torch.Size(shape).numel()
        x.append((torch.arange(start, start + n, dtype=torch.float64).view(shape) / 64 - 0.5).requires_grad_())
        start += n
    muon = torch.optim.Muon(x[:-1], lr=RATE, weight_decay=decay, momentum=momentum, nesterov=bool(nesterov), ns_steps=times,
                            adjust_lr_fn="match_rms_adamw" if matches else "original")
    adamw = torch.optim.AdamW(x[-1:], lr=RATE * VECTOR_RATE, betas=(0.9, 0.95), eps=1e-10, weight_decay=decay)
    for t in range(STEPS):
        at = 0
        for part in x:
            part.grad = gradient(t, part.shape, at)
            at += part.numel()
        muon.step()
        adamw.step()
        yield torch.cat([part.detach().flatten() for part in x])


rounded = [list(run(*case)) for case in CASES]
torch.Tensor.bfloat16 = torch.Tensor.clone  # which `double` would not do, and the division is in place
exact = [list(run(*case)) for case in CASES]
size = exact[0][0].numel()
start = torch.arange(size, dtype=torch.float64) / 64 - 0.5
far = max(((a[0] - b[0]).norm() / (b[0] - start).norm()).item() for a, b in zip(rounded, exact))
print("/* Written by muon_golden.py: PyTorch %s, Python %s, double precision. The first step in bfloat16 differs by up to"
      "\n * %.2g of its length. */" % (torch.__version__, sys.version.split()[0], far))
print("/* clang-format off */")
print("enum { MUON_STEPS = %d, MUON_SIZE = %d };" % (STEPS, size))
print("static const double MUON_RATE = %g, MUON_VECTOR_RATE = %g;" % (RATE, VECTOR_RATE))
print("static const struct golden_muon {\n    double momentum, nesterov, decay, times, matches, x[MUON_STEPS * MUON_SIZE];\n} golden_muon[] = {")
for case, steps in zip(CASES, exact):
    print('    {%s, {%s}},' % (", ".join("%g" % v for v in case), ", ".join("%.12g" % v for v in torch.cat(steps).tolist())))
print("};")
