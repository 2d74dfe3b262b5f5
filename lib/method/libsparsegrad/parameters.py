"""parameters.py: gradients of PyTorch's parameters as one vector of float32 on the host, in which each is a layer."""
# SPDX-License-Identifier: MIT
import warnings

import numpy as np
import torch

from .method import is_finite

PART = 1 << 16


def real(x):
    """A tensor's numbers, of which a complex one has two an element."""
    return torch.view_as_real(x.detach()) if x.is_complex() else x.detach()


def shapes(parameters):
    """The layers' lengths, and how many rows each has as a matrix. Parameters are pairs of a name and a tensor."""
    wide = [name for name, p in parameters if p.dtype in (torch.float64, torch.complex128)]
    if wide:
        warnings.warn(f"{len(wide)} parameters are float64, the first of them '{wide[0]}', and their gradients are "
                      "exchanged as float32, with 24 bits: train in float32, or without this compression", stacklevel=4)
    return ([p.numel() * (2 if p.is_complex() else 1) for _, p in parameters],
            [p.shape[0] if p.dim() > 1 and p.numel() > 0 else 1 for _, p in parameters])


def take(vector, gradient):
    """vector <- the gradient's numbers, on the host. A GPU's are waited for. False: one of them is NaN or Inf, which is
    looked for while a part of them is in the cache."""
    numbers, fine = real(gradient).float().cpu().numpy().ravel(), True
    for begin in range(0, len(numbers), PART):
        part = vector[begin : begin + PART]
        part[:] = numbers[begin : begin + PART]
        fine = is_finite(part) and fine
    return fine


def give(gradients, vectors):
    """gradients <- the numbers of vectors, which are arrays or tensors of the same device. A GPU copies all at once."""
    to = [real(g) for g in gradients]
    if to:
        torch._foreach_copy_(to, [torch.as_tensor(vector).view_as(g) for g, vector in zip(to, vectors)])
