"""Floats of 16 bits: IEEE halves, and bfloat16, which has 8 bits of mantissa with the hidden one."""
# SPDX-License-Identifier: MIT

import numpy as np

SETTINGS = ["fp16", "bf16", "bf16 feedback=none", "none values=bf16", "none values=fp16"]


def bfloat16(x):
    """Nearest, ties to even, on the grid that belongs to the exponent; the largest one for what is beyond."""
    x = x.astype(np.float64)
    grid = np.exp2(np.maximum(np.frexp(x)[1] - 8, -133))
    most = (2 - 2.0**-7) * 2.0**127
    return np.clip(np.rint(x / grid) * grid, -most, most)


def compress(case, p, layer, worker, step):
    name = case.param.get("values", case.compressor)
    with np.errstate(over="ignore"):
        sent = bfloat16(p) if name == "bf16" else np.clip(p.astype(np.float16), -65504, 65504)
    return sent, (32 if case.compressor == "none" else 16) * len(p)  # values count as the paper counts
