"""Golden values of image augmentation and normalisation, independent of the library: Philox in Python integers, shifts,
flips and rotations in NumPy on padded arrays.
usage: python3 tests/golden/augment_golden.py > tests/golden/augment_golden.h"""
# SPDX-License-Identifier: MIT
import hashlib
import math
import sys

import numpy as np

M32 = 2**32 - 1
AUGMENT = 8  # sg_rng.h


class Philox:
    """sg_rng_open(seed, AUGMENT, 0, step)"""

    def __init__(self, seed, step):
        self.key = seed & M32, seed >> 32
        self.high = AUGMENT << 24, step & M32, step >> 32
        self.count, self.left = 0, []

    def u32(self):
        if not self.left:
            c, (k0, k1) = (self.count,) + self.high, self.key
            for _ in range(10):
                a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
                c = (b >> 32) ^ c[1] ^ k0, b & M32, (a >> 32) ^ c[3] ^ k1, a & M32
                k0, k1 = (k0 + 0x9E3779B9) & M32, (k1 + 0xBB67AE85) & M32
            self.count, self.left = self.count + 1, list(c)
        return self.left.pop(0)

    def below(self, n):
        while True:
            product = self.u32() * n
            if product & M32 >= 2**32 % n:
                return product >> 32

    def uniform(self):
        low = self.u32()
        return ((self.u32() << 32 | low) >> 11) * 2.0**-53


def augment(image, seed, epoch, index, rotate):
    rng = Philox(seed, epoch << 32 | index)
    y, x, flip = rng.below(9), rng.below(9), rng.below(2)
    image = np.pad(image, ((0, 0), (4, 4), (4, 4)))[:, y : y + 32, x : x + 32]
    if flip:
        image = image[:, :, ::-1]
    if not rotate:
        return image
    angle = math.radians(15 * (2 * rng.uniform() - 1))
    v, u = np.mgrid[0:32, 0:32] - 15.5
    column = np.floor(math.cos(angle) * u - math.sin(angle) * v + 16).astype(int)
    row = np.floor(math.sin(angle) * u + math.cos(angle) * v + 16).astype(int)
    inside = (column >= 0) & (column < 32) & (row >= 0) & (row < 32)
    out = image[:, row.clip(0, 31), column.clip(0, 31)]
    return np.where(inside, out, 0)


c, y, x = np.mgrid[0:3, 0:32, 0:32]
image = ((37 * c + 11 * y + 5 * x + x * y + 1) & 255).astype(np.uint8)
print(f"/* Written by augment_golden.py: NumPy {np.__version__}, Python {sys.version.split()[0]}. */")
print("#include <stddef.h>\n#include <stdint.h>\n/* clang-format off */")
print("static const struct { uint64_t seed, epoch; size_t index; int rotate; const char *sha256; } golden_augment[] = {")
for seed, epoch, index in (0, 0, 0), (1, 0, 1), (1, 299, 49999), (2**63 + 5, 7, 12345), (42, 3, 8), (42, 4, 8):
    for rotate in 0, 1:
        pixels = np.ascontiguousarray(augment(image, seed, epoch, index, rotate).astype(np.uint8))
        print(f'    {{{seed}u, {epoch}, {index}, {rotate}, "{hashlib.sha256(pixels.tobytes()).hexdigest()}"}},')
print("};")
mean, deviation = np.float32([0.4914, 0.4822, 0.4465]), np.float32([0.2023, 0.1994, 0.2010])
table = (np.arange(256, dtype=np.float32)[None] / np.float32(255) - mean[:, None]) / deviation[:, None]
print(f'static const char golden_table[] = "{hashlib.sha256(table.astype("<f4").tobytes()).hexdigest()}";')
