"""QSGD (Alistarh et al., NeurIPS 2017) once more, from its definition: reads `twin qsgd`, says how many cases agree."""
# SPDX-License-Identifier: MIT

import math
import struct
import sys

from common import CODE, Stream, bits, f32, floats, sum_squares, unit


def unit_of(bucket, levels, by_max):
    return unit(max(map(abs, bucket)) if by_max else math.sqrt(sum_squares(bucket)), levels)


def encode(p, sizes, levels, bucket, by_max, seed, worker, step):
    """The message's data, the numbers that it stands for, and the bits that the paper counts."""
    width = 1 + max(1, math.ceil(math.log2(levels + 1)))
    draws = Stream(seed, CODE, worker, step)
    out = struct.pack("<II", len(sizes), bucket) + b"".join(struct.pack("<II", n, levels) for n in sizes)
    numbers, cost, at = [], 0, 0
    for n in sizes:
        part, packed, units = p[at : at + n], 0, b""
        for start in range(0, n, bucket):
            some = part[start : start + bucket]
            step = unit_of(some, levels, by_max)
            units += struct.pack("<f", step)
            for i, x in enumerate(some):
                draw = draws.u32() >> 8
                a = min(f32(abs(x) / step), float(levels)) if step > 0 else 0.0
                level = math.floor(a)
                level += draw < f32(f32(a - level) * 2.0**24)
                negative = x < 0 and level > 0
                packed |= (level | negative << (width - 1)) << (start + i) * width
                numbers.append(-f32(step * level) if negative else f32(step * level))
        out += units + packed.to_bytes((n * width + 7) // 8, "little")
        cost += 32 * math.ceil(n / bucket) + n * width
        at += n
    return out + bytes(8), numbers, cost


cases = wrong = 0
for line in sys.stdin:
    word, *rest = line.split()
    if word == "case":
        setting = [int(float(x)) for x in rest]
    elif word == "bits":
        stated = float(rest[0])
    elif word == "p":
        p = floats(rest)
    elif word == "data":
        data = bytes.fromhex(rest[0])
    elif word == "e":
        levels, bucket, by_max, step, *sizes = setting
        mine, numbers, cost = encode(p, sizes, levels, bucket, by_max, 77, 5, step)
        kept = [bits(f32(x - y)) for x, y in zip(p, numbers)]
        right = mine == data and kept == [int(x, 16) for x in rest] and cost == stated
        if not right:
            print("wrong:", setting, "data" if mine != data else "residual or bits")
        cases += 1
        wrong += not right
print(f"{cases} cases, {wrong} wrong")
sys.exit(wrong > 0 or cases < 100)
