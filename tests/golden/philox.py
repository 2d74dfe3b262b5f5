"""The numbers of lib/core/sg_rng.h, in NumPy."""
import numpy as np

INIT, TEST, DROPOUT = 5, 7, 9  # purposes
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
