"""What the twins share: floats of 32 bits in doubles, and Philox4x32-10 as published (Salmon et al., SC 2011)."""
# SPDX-License-Identifier: MIT

import math
import struct

import numpy as np

COMPRESS, CODE, START = 3, 11, 12  # purposes of streams (lib/core/sg_rng.h)
EXAMPLE = np.array([0.5, -1.25, 2, -0.125, 0, 3, -2.5, 0.75])  # what the worked examples of twins begin with


def f32(x):
    """The float nearest to a double, ties to even; too large becomes infinite."""
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return math.copysign(math.inf, x)


def bits(x):
    return struct.unpack("<I", struct.pack("<f", x))[0]


def floats(words):
    return [struct.unpack("<f", struct.pack("<I", int(w, 16)))[0] for w in words]


def above(x):
    """The next float above x >= 0."""
    return struct.unpack("<f", struct.pack("<I", bits(x) + 1))[0]


def below(x):
    return struct.unpack("<f", struct.pack("<I", bits(x) - 1))[0]


def philox(counter, key):
    c, k = list(counter), list(key)
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & 0xFFFFFFFF, a >> 32 ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


class Stream:
    """Stream (seed, purpose, worker, step): 32-bit numbers one after the other."""

    def __init__(self, seed, purpose, worker, step):
        self.key = (seed & 0xFFFFFFFF, seed >> 32)
        self.rest = (purpose << 24 | worker, step & 0xFFFFFFFF, step >> 32)
        self.at = 0
        self.block = []

    def u32(self):
        if self.at % 4 == 0:
            self.block = philox((self.at // 4,) + self.rest, self.key)
        self.at += 1
        return self.block[(self.at - 1) % 4]

    def below(self, bound):
        """Uniform on 0 .. bound-1 for a bound below 2^32: the upper half of a product (Lemire, 2019)."""
        while True:
            product = self.u32() * bound
            if product % 2**32 >= 2**32 % bound:
                return product >> 32

    def subset(self, k, n):
        """k of 0 .. n-1, ascending: by selection sampling, or, where they are few, drawn until k are distinct."""
        if k > n // 16:
            chosen = []
            for value in range(n):
                if len(chosen) < k and self.below(n - value) < k - len(chosen):
                    chosen.append(value)
            return chosen
        chosen = set()
        while len(chosen) < k:
            chosen |= {self.below(n) for _ in range(k - len(chosen))}
        return sorted(chosen)

    def uniform(self):
        low = self.u32()
        return ((self.u32() << 32 | low) >> 11) * 2.0**-53

    def normal(self):
        radius = math.sqrt(-2 * math.log(1 - self.uniform()))
        return radius * math.cos(6.283185307179586 * self.uniform())


def draws(seed, purpose, worker, step, first, count):
    """Numbers first .. first + count - 1 of a stream, all at once."""
    word = np.uint64(0xFFFFFFFF)
    block = np.arange(first // 4, (first + count + 3) // 4, dtype=np.uint64)
    c = [block] + [np.full_like(block, x) for x in (purpose << 24 | worker, step & 0xFFFFFFFF, step >> 32)]
    k = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = np.uint64(0xD2511F53) * c[0], np.uint64(0xCD9E8D57) * c[2]
        high = np.uint64(32)
        c = [b >> high ^ c[1] ^ np.uint64(k[0]), b & word, a >> high ^ c[3] ^ np.uint64(k[1]), a & word]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return np.stack(c, axis=1).ravel()[first % 4 :][:count].astype(np.uint32)


def uniform(words):
    """Words of 32 bits as numbers from 0 up to 1, of 24 bits."""
    return (words >> 8) * 2.0**-24


def unit(norm, levels):
    """The smallest float of which `levels` are not below norm, but the largest one of which they are finite."""
    most = f32(3.4028234663852886e38 / levels)
    while math.isinf(f32(most * levels)):
        most = below(most)
    x = f32(min(norm / levels, most))
    return min(above(x) if x * levels < norm else x, most)


def sum_squares(x):
    """Blocks of 4096 with 16 interleaved sums, halves of which are added onto each other, then block by block."""
    x = np.asarray(x, np.float64) ** 2
    total = 0.0
    for start in range(0, len(x), 4096):
        block = x[start : start + 4096]
        rows = np.concatenate([block, np.zeros(-len(block) % 16)]).reshape(-1, 16)
        lane = list(np.add.accumulate(rows)[-1])
        width = 8
        while width:
            lane = [lane[i] + lane[i + width] for i in range(width)]
            width //= 2
        total += lane[0]
    return float(total)


def lane_sum(x):
    """The sum of doubles in an array, in the order of sum_squares."""
    rows = (min(len(x), 4096) + 15) // 16
    x = np.concatenate([x, np.zeros(-len(x) % 4096)]).reshape(-1, 256, 16)
    lane = np.zeros((len(x), 16))
    for row in range(rows):
        lane += x[:, row]
    for width in (8, 4, 2, 1):
        lane = lane[:, :width] + lane[:, width : 2 * width]
    total = 0.0
    for block in lane[:, 0]:
        total += block
    return total
