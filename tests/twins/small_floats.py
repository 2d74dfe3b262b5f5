"""Floats of 8 and 4 bits: E4M3 in a layer's unit, MXFP8 of OCP's Microscaling Formats 1.0, NVFP4 (arXiv 2509.25149).

E4M3 and E2M1 are nearest numbers, ties to even, on the grid that belongs to the exponent; the largest for what is beyond.
Scales and products are floats of 32 bits in the order of the publications."""
# SPDX-License-Identifier: MIT

import hashlib

import numpy as np

from common import unit

SETTINGS = [
    "fp8",
    "fp8 feedback=none",
    "mxfp8",
    "mxfp8 feedback=none",
    "nvfp4",
    "nvfp4 feedback=none",
    "topk k=40 values=nvfp4",
]


def nearest(x, mantissa, least, most):
    x = np.asarray(x, np.float64)
    grid = np.exp2(np.maximum(np.frexp(x)[1] - 1, least) - mantissa)
    return np.clip(np.rint(x / grid) * grid, -most, most)


def e4m3(x):
    return nearest(x, 3, -6, 448)


def e2m1(x):
    return nearest(x, 1, 0, 6)


def fp8(x):
    u = np.float32(unit(float(np.abs(x).max()), 448))
    return e4m3(x / u).astype(np.float32) * u if u > 0 else 0 * x


def mxfp8(x):
    largest = float(np.abs(x).max())
    power = 2.0 ** max(np.frexp(largest)[1] - 1 - 8, -127) if largest > 0 else 1
    return e4m3(x.astype(np.float64) / power) * power


def nvfp4(x, scale):
    """A block in the layer's scale S."""
    most = np.finfo(np.float32).max
    b = np.float32(e4m3(np.abs(x).max() / np.float32(6) * scale))
    decode = b * (np.float32(1) / scale)
    inverse = np.minimum(np.float32(1) / decode, most) if b > 0 else np.float32(0)
    return e2m1(x * inverse).astype(np.float32) * decode


def written(x, name):
    """What is read back of a layer's numbers, and their bits."""
    if not len(x):
        return x, 0
    size = {"fp8": len(x), "mxfp8": 32, "nvfp4": 16}[name]
    blocks = [x[at : at + size] for at in range(0, len(x), size)]
    if name == "fp8":
        return fp8(x), 8 * len(x) + 32
    if name == "mxfp8":
        return np.concatenate([mxfp8(block) for block in blocks]), 8 * len(x) + 8 * len(blocks)
    largest = np.abs(x).max()
    scale = np.minimum(np.float32(2688) / largest, np.finfo(np.float32).max) if largest > 0 else np.float32(1)
    return np.concatenate([nvfp4(block, scale) for block in blocks]), 4 * len(x) + 8 * len(blocks) + 32


def compress(case, p, layer, worker, step):
    if case.compressor != "topk":
        return written(p, case.compressor)
    at = np.sort(np.argsort(-np.abs(p), kind="stable")[: int(case.number("k"))])
    sent = np.zeros(len(p), np.float32)
    sent[at], cost = written(p[at], case.param["values"])
    return sent, cost + 32 * len(at)


def check():
    """All finite bfloat16, up to 448, are what PyTorch 2.9.1 makes of them as float8_e4m3fn (SHA-256 of its floats)."""
    x = (np.arange(65536, dtype=np.uint32) << 16).view(np.float32)
    y = e4m3(np.clip(x[np.isfinite(x)], -448, 448)).astype(np.float32)
    torch = "9c8dd957750b0bae78b2a263cddc90b9c7dd74fdf9bc6fa048ebf96e576641b7"
    assert hashlib.sha256(y.tobytes()).hexdigest() == torch
    assert sorted(set(np.abs(e2m1(np.arange(-700, 700) / 100)))) == [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    assert list(e2m1([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5])) == [0, 1, 1, 2, 2, 4, 4]
