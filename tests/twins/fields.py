"""Numbers in fewer bits once more, from lib/FORMATS.md: reads `twin fields`, writes the same numbers from their
fields, and says how many cases agree bit for bit."""
# SPDX-License-Identifier: MIT

import heapq
import struct
import sys
from collections import Counter

import numpy as np

# Of each code: bits of a field by its setting, scalars of a bucket, and what a field says.
CODES = {"levels": (lambda s: 1 + s.bit_length(), 1, "sign"), "natural": (lambda s: 9, 0, "sign"),
         "natural-8": (lambda s: 8, 0, "sign"), "8bit": (lambda s: 8, 1, "sign"), "grid": (lambda s: s, 1, "two"),
         "natural-dithering": (lambda s: 1 + s.bit_length(), 1, "sign"), "int-block": (lambda s: s, 1, "two"),
         "minmax": (lambda s: s, 2, "none"), "fp8": (lambda s: 8, 1, "sign"), "mxfp8": (lambda s: 8, 1 / 4, "sign"),
         "nvfp4": (lambda s: 4, 1 / 4, "sign")}
VALUES, RUNS = (9, 3), (4, 1)


def leb(x):
    out = b""
    while x > 127:
        out, x = out + bytes([x & 127 | 128]), x >> 7
    return out + bytes([x])


def low(x, n):
    """The low n bits of x, the lowest first."""
    return format(x & ((1 << n) - 1), "0%db" % n)[::-1] if n else ""


def integers(fields, width, kind):
    if kind == "none":
        return fields
    top = 1 << (width - 1)
    if kind == "sign":
        return np.where(fields == top, 1, 2 * (fields & (top - 1)) + (fields >= top))
    q = np.where(fields >= top, fields - 2 * top, fields)
    return np.where(fields == top, 1, 2 * np.abs(q) + (q < 0))


def symbol(x, alphabet):
    """The symbol of an integer, and the bits below it."""
    direct, cut = alphabet
    if x < 1 << direct:
        return x, ""
    length = int(x).bit_length()
    rest = length - 1 - cut
    return (1 << direct) + (length - 1 - direct << cut) + (x >> rest & ((1 << cut) - 1)), low(x, rest)


def huffman(counts):
    """The length of each symbol's word."""
    if len(counts) < 2:
        return dict.fromkeys(counts, 0)
    halved = 0
    while True:
        heap = [(-(-n // 2**halved), 0, s, (s,)) for s, n in counts.items()]
        heapq.heapify(heap)
        lengths, made = Counter(), 0
        while len(heap) > 1:
            a, b = heapq.heappop(heap), heapq.heappop(heap)
            lengths.update(a[3] + b[3])
            made += 1
            heapq.heappush(heap, (a[0] + b[0], 1, made, a[3] + b[3]))
        if max(lengths.values()) <= 12:
            return lengths
        halved += 1


def prefix(xs, alphabet):
    """The description of the integers' code, and each as a word and the bits below it."""
    parts = [symbol(x, alphabet) for x in xs]
    lengths = huffman(Counter(s for s, _ in parts))
    first = min(lengths, default=0)
    size = max(lengths) - first + 1 if lengths else 0
    words, next_word, before = {}, 0, 0
    for length, s in sorted((n, s) for s, n in lengths.items()):
        next_word <<= length - before
        words[s], before = format(next_word, "0%db" % length) if length else "", length
        next_word += 1
    text = low(first, 10) + low(size, 10)
    if size > 1:
        text += "".join(low(lengths[s] if s in lengths else 0, 4) for s in range(first, first + size))
    return text, [words[s] + rest for s, rest in parts]


def gamma(r, b):
    length = (r >> b).bit_length()
    return "0" * length + "1" + low(r, b + max(0, length - 1))


def part(fields, width, kind):
    """The fields of a part as bytes, in the way with the fewest bits."""
    x = [int(v) for v in integers(fields, width, kind)]
    plain = "".join(low(int(f), width) for f in fields)
    plain += "0" * (-len(plain) % 8)
    described, words = prefix(x, VALUES)
    ways = ["00000000" + plain, "10" + described + "".join(words)]
    at = [j for j, v in enumerate(x) if v] + [len(x)]
    runs = [b - a - 1 for a, b in zip([-1] + at, at)]
    if runs[-1] == 0:
        runs.pop()
    values = [v for v in x if v]
    if 1 not in values:
        coded = ["0" * (v.bit_length() - 2) + "1" + low(v, v.bit_length() - 1) for v in values] + [""]
        often = Counter(runs)
        b = min(range(32), key=lambda b: sum(n * len(gamma(r, b)) for r, n in often.items()))
        ways.append("11" + low(b, 5) + "".join(gamma(r, b) + v for r, v in zip(runs, coded)))
    of_runs, run_words = prefix(runs, RUNS)
    of_values, value_words = prefix(values, VALUES)
    ways.append("01" + of_runs + of_values + "".join(r + v for r, v in zip(run_words, value_words + [""])))
    best = min(ways, key=len)
    return int(best[::-1], 2).to_bytes((len(best) + 7) // 8, "little")


def shorter(name, data):
    width_of, scalars, kind = CODES[name]
    parts, bucket = struct.unpack("<2I", data[:8])
    out, at = leb(parts) + leb(bucket), 8 + 8 * parts
    for i in range(parts):
        count, setting = struct.unpack("<2I", data[8 + 8 * i : 16 + 8 * i])
        width, units = width_of(setting), int(4 * scalars) * -(-count // bucket)
        out += leb(count) + leb(setting) + data[at : at + units]
        at += units
        stream = np.unpackbits(np.frombuffer(data[at : at + (count * width + 7) // 8], np.uint8), bitorder="little")
        at += (count * width + 7) // 8
        if count:
            fields = stream[: count * width].reshape(count, width).astype(np.int64) @ (1 << np.arange(width))
            out += part(fields, width, kind)
    out += leb(struct.unpack("<Q", data[-8:])[0]) + data[at:-8]
    return out + bytes(max(0, -(-len(data) // 1024) - len(out)))


cases = wrong = 0
for line in sys.stdin:
    name, data, numbers = line.split()
    data, numbers = bytes.fromhex(data), bytes.fromhex(numbers)
    mine = shorter(name, data)
    if mine != numbers:
        print("wrong:", name, len(data), "bytes as", len(numbers), "but", len(mine))
        wrong += 1
    cases += 1
print(f"{cases} cases, {wrong} wrong")
sys.exit(wrong > 0 or cases < 100)
