"""The numbers of lib/core/sg_rng.h, in NumPy."""
# SPDX-License-Identifier: MIT
import numpy as np

SHARD, SAMPLE, INIT, TEST, DROPOUT, NEGATIVE = 1, 2, 5, 7, 9, 10  # purposes
M32 = np.uint64(2**32 - 1)


def draw(seed, purpose, worker, step, count):
    """The first numbers of sg_rng_open(seed, purpose, worker, step)."""
    blocks = -(-count // 4)
    c = [np.arange(blocks, dtype=np.uint64)]
    c += [np.full(blocks, v, np.uint64) for v in (purpose << 24 | worker, step & (2**32 - 1), step >> 32)]
    k0, k1, low = seed & (2**32 - 1), seed >> 32, np.uint64(32)
    for _ in range(10):
        a, b = c[0] * np.uint64(0xD2511F53), c[2] * np.uint64(0xCD9E8D57)
        c = [(b >> low) ^ c[1] ^ np.uint64(k0), b & M32, (a >> low) ^ c[3] ^ np.uint64(k1), a & M32]
        k0, k1 = (k0 + 0x9E3779B9) % 2**32, (k1 + 0xBB67AE85) % 2**32
    return np.stack(c, 1).reshape(-1)[:count]


def uniform(seed, purpose, worker, step, count):
    u = draw(seed, purpose, worker, step, 2 * count)
    return ((u[1::2] << np.uint64(32) | u[::2]) >> np.uint64(11)).astype(np.float64) * 2.0**-53


def normal(seed, purpose, worker, step, count):
    u = uniform(seed, purpose, worker, step, 2 * count)
    return np.sqrt(-2 * np.log(1 - u[::2])) * np.cos(6.283185307179586 * u[1::2])


def below(seed, purpose, worker, step, bound, count=1):
    """The first sg_rng_below of a stream, or a list of the first `count`, for a bound below 2^32."""
    products = [int(number) * bound for number in draw(seed, purpose, worker, step, 64 * count)]
    kept = [product >> 32 for product in products if product % 2**32 >= 2**32 % bound][:count]
    return kept if count > 1 else kept[0]


def shuffled(seed, purpose, worker, step, n):
    """sg_shuffle_at of 0, 1, ... n - 1: a Feistel network over pairs (row, column), repeated until it is below n."""
    key = [int(v) for v in draw(seed, purpose, worker, step, 8)]
    rows = int(np.ceil(np.sqrt(n)))
    columns = -(-n // rows)

    def scatter(x, k, bound):
        x ^= k
        x = (x ^ x >> 16) * 0x85EBCA6B % 2**32
        x = (x ^ x >> 13) * 0xC2B2AE35 % 2**32
        return (x ^ x >> 16) * bound >> 32

    def once(i):
        row, column = divmod(i, columns)
        for k in range(0, 8, 2):
            row = (row + scatter(column, key[k], rows)) % rows
            column = (column + scatter(row, key[k + 1], columns)) % columns
        return row * columns + column

    def place(i):
        i = once(i)
        while i >= n:
            i = once(i)
        return i

    return [place(i) for i in range(n)]
