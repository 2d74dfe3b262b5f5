#!/usr/bin/env python3
"""Decodes binary files by the maps of lib/FORMATS.md, and fails if a byte is not where they say it is.

usage: formats.py message FILE                 messages behind each other; each is printed, bytes first
       formats.py checkpoint FILE SERIES [RECORDING]
                                               `common` as doubles, or as floats if nothing of it is a controller's
       formats.py recording FILE
       formats.py matrix FILE
       formats.py prefix BITS N                integers in a prefix code
       formats.py doubles FILE WHAT DATA L2    what makes the key: L2 is a number
"""
# SPDX-License-Identifier: MIT
import hashlib
import json
import struct
import sys


def sha(data):
    return hashlib.sha256(data).hexdigest().encode()


def need(true, what):
    if not true:
        sys.exit("formats.py: " + what)


class Reader:
    """Reads one map from top to bottom, in this machine's byte order."""

    def __init__(self, data, at=0):
        self.data, self.at = data, at

    def bytes(self, n):
        self.at += n
        need(self.at <= len(self.data), "the file ends at %d, before %d" % (len(self.data), self.at))
        return self.data[self.at - n : self.at]

    def array(self, kind, n):
        return struct.unpack("=%d%s" % (n, kind), self.bytes(n * struct.calcsize("=" + kind)))

    def one(self, kind):
        return self.array(kind, 1)[0]

    def text(self, n):
        raw = self.bytes(n)
        need(raw.rstrip(b"\0").find(b"\0") < 0, "bytes behind the text at %d" % (self.at - n))
        return raw.rstrip(b"\0").decode()

    def leb(self):
        x = shift = 0
        while True:
            byte = self.bytes(1)[0]
            x |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                need(byte or shift == 7, "a LEB128 that is longer than needed")
                return x


# ---- messages ----

def bit(data, b):
    return data[b // 8] >> b % 8 & 1


def split(data, count, width):
    """[(high, low)] and the bytes that they took; high is what stands before the j-th 1, less j."""
    low_bytes = (count * width + 7) // 8
    low = [sum(bit(data, j * width + b) << b for b in range(width)) for j in range(count)]
    ones = [b for b in range(8 * (len(data) - low_bytes)) if bit(data[low_bytes:], b)]
    need(len(ones) == count and data[-1] != 0, "a stream of %d ones for %d positions" % (len(ones), count))
    return [one - j for j, one in enumerate(ones)], low


def positions(row, parameter, n, count, data):
    if count in (0, n):
        need(not data and parameter == 0, "positions that nobody needs")
        return list(range(count))
    r = Reader(data)
    if row == 0:
        found = list(struct.unpack("<%dI" % count, data))
    elif row == 1:
        need(len(data) == (n + 7) // 8, "a bitmap of %d bytes" % len(data))
        found = [i for i in range(8 * len(data)) if bit(data, i)]
    elif row == 2:
        gaps = [r.leb() for _ in range(count)]
        need(r.at == len(data), "bytes behind the gaps")
        found = of_gaps(gaps)
    elif row == 3:
        high, low = split(data, count, parameter)
        each = [h - (high[j - 1] if j else 0) for j, h in enumerate(high)]
        found = of_gaps([(h << parameter) + x for h, x in zip(each, low)])
    else:
        need(row == 4 and parameter == (n // count).bit_length() - 1, "elias-fano of width %d" % parameter)
        high, low = split(data, count, parameter)
        found = [(h << parameter) + x for h, x in zip(high, low)]
    need(row in (3, 4) or parameter == 0, "a parameter of row %d" % row)
    need(len(found) == count and found == sorted(set(found)) and found[-1] < n, "positions that do not ascend")
    return found


def of_gaps(gaps):
    found, at = [], 0
    for gap in gaps:
        found.append(at + gap)
        at += gap + 1
    return found


def signed(f, width):
    """The low bits of a field, and the sign above them."""
    return f & ((1 << (width - 1)) - 1), 1 - 2 * (f >> (width - 1))


def two_complement(f, width):
    return f - (1 << width) * (f >> (width - 1))


def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]


def level(f, width, s, scalar):
    k, sign = signed(f, width)
    need(k <= s and (k or sign > 0), "level %d of %d" % (k, s))
    return sign * k * scalar[0]


def power(f, width, s, scalar):
    k, sign = signed(f, width)
    need(k < 255 and (k or sign > 0), "exponent %d" % k)
    return sign * 2.0 ** (k - (127 if width == 9 else 109)) if k else 0


def fraction(f, width, s, scalar):
    k, sign = signed(f, width)
    table = [1.5e-6]
    for j in range(6):
        for low, high in ((1, 4.5), (4.5, 10)):
            table += [float("1e%d" % (j - 6)) * (low + (high - low) * (i + 0.5) / 2**j) for i in range(2**j)]
    return sign * scalar[0] * (table + [0.99570298])[k] if k or s == 8 else 0


def dithered(f, width, s, scalar):
    k, sign = signed(f, width)
    need(k <= s and (k or sign > 0), "level %d of %d" % (k, s))
    return sign * scalar[0] * 2.0 ** (k - s) if k else 0


def integer(f, width, s, scalar):
    need(f != 1 << (width - 1), "an integer that does not occur")
    return two_complement(f, width) * scalar[0]


def step(f, width, s, scalar):
    return two_complement(f, width) * scalar[0] if f != 1 << (width - 1) else None


def place(f, width, s, scalar):
    return scalar[0] + (scalar[1] - scalar[0]) / (2**width - 1) * f


def rotated(f, width, s, scalar):
    k, sign = signed(f, width)
    return sign * scalar[0] * {1: [1], 2: [0.45278, 1.51042], 3: [0.24509, 0.75601, 1.34391, 2.15195]}[width][k]


def mean(f, width, s, scalar):
    return scalar[f]


def small(f, width, scale):
    """A float E4M3 of 8 bits or E2M1 of 4, in a scale."""
    mantissa, least = (3, -6) if width == 8 else (1, 0)
    k, sign = signed(f, width)
    need(width == 4 or k < 127, "NaN")
    high, low = k >> mantissa, k & (1 << mantissa) - 1
    return sign * scale * (low + (high > 0) * 2**mantissa) * 2.0 ** (max(high, 1) - 1 + least - mantissa)


def in_unit(f, width, s, scalar):
    return small(f, width, scalar[0])


def in_power(f, width, s, scalar):
    need(scalar[0] <= 246, "the power %d" % scalar[0])
    return small(f, width, 2.0 ** (scalar[0] - 127))


def in_block(f, width, s, scalar):
    of_layer = struct.unpack("<f", struct.pack("<I", s))[0]
    return small(f, 4, f32(small(scalar[0], 8, f32(1 / of_layer))))


def of_four(s):
    need(0x05280001 <= s <= 0x7F7FFFFF, "the setting %d" % s)
    return 4


def of_eight(s):
    need(s in (8, 9), "the setting %d" % s)
    return 8


def of_setting(s):
    return s


def of_levels(s):
    return 1 + s.bit_length()


# For each code with parts and buckets: the width of a field, scalars, a field's number.
BUCKETS = {"levels": (of_levels, 1, level), "natural": (of_setting, 0, power), "natural-8": (of_setting, 0, power),
           "grid": (of_setting, 1, step), "8bit": (of_eight, 1, fraction),
           "natural-dithering": (of_levels, 1, dithered), "int-block": (of_setting, 1, integer),
           "minmax": (of_setting, 2, place), "eden": (of_setting, 1, rotated),
           "sketch-quantile": (of_setting, 64, mean), "fp8": (of_setting, 1, in_unit),
           "mxfp8": (of_setting, 1, in_power), "nvfp4": (of_four, 1, in_block)}
BYTES = ("mxfp8", "nvfp4")  # whose scalars are bytes


def philox(at, seed):
    """The block of four draws number `at` of the stream (seed, 11, 0, 0)."""
    c, k = [at, 11 << 24, 0, 0], [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        a, b = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [b >> 32 ^ c[1] ^ k[0], b & 0xFFFFFFFF, a >> 32 ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def turn_back(y, first, seed, count):
    n = len(y)
    y = [sum(v if bin(i & j).count("1") % 2 == 0 else -v for j, v in enumerate(y)) / n**0.5 for i in range(n)]
    return [-v if philox(i // 4, seed)[i % 4] >> 31 else v for i, v in enumerate(y[:count], first)]


def buckets(name, data, count):
    """The numbers of a code with parts and buckets."""
    width_of, scalars, number = BUCKETS[name]
    parts, bucket = struct.unpack("<2I", data[:8])
    head = struct.unpack("<%dI" % (2 * parts), data[8 : 8 + 8 * parts])
    last = struct.unpack("<Q", data[-8:])[0]
    found, at = [], 8 + 8 * parts
    for c, s in zip(head[::2], head[1::2]):
        width, n = width_of(s), (c + bucket - 1) // bucket
        units = scalars * n * (1 if name in BYTES else 4)
        scalar = struct.unpack("<%d%s" % (scalars * n, "B" if name in BYTES else "f"), data[at : at + units])
        rest = c % bucket
        fields = c - rest + (1 << (rest - 1).bit_length() if rest else 0) if name == "eden" else c
        at, end = at + units, at + units + (fields * width + 7) // 8
        stream = int.from_bytes(data[at:end], "little")
        for b in range(n):
            own = scalar[scalars * b : scalars * b + scalars]
            some = [number(stream >> j * width & ((1 << width) - 1), width, s, own)
                    for j in range(b * bucket, min(fields, (b + 1) * bucket))]
            found += turn_back(some, len(found), last, min(bucket, c - b * bucket)) if name == "eden" else some
        need(stream >> fields * width == 0, "padding that is not 0")
        at = end
    if name == "grid":
        for i in range(last):
            where, x = struct.unpack("<If", data[at : at + 8])
            need(found[where] is None, "number %d is there twice" % where)
            found[where], at = x, at + 8
    need(name in ("grid", "eden") or last == 0, "bytes behind the parts")
    need(len(found) == count and None not in found and at == len(data) - 8, "%d of %d numbers" % (len(found), count))
    return [f32(x) for x in found]


def prefix_code(stream, direct, cut):
    """A function that reads an integer of the code that is described here."""
    first, size = stream.low(10), stream.low(10)
    lengths = {first + i: stream.low(4) for i in range(size)} if size > 1 else {}
    lengths = {s: n for s, n in lengths.items() if n}
    need(size < 2 or sum(2.0**-n for n in lengths.values()) == 1, "a prefix code that is not complete")
    words, word, before = {}, 0, 0
    for n, s in sorted((n, s) for s, n in lengths.items()):
        word <<= n - before
        words[n, word], before = s, n
        word += 1

    def read():
        s, n, word = first, 0, 0
        while size > 1 and (n, word) not in words:
            n, word = n + 1, 2 * word + stream.low(1)
        s = words[n, word] if size > 1 else first
        if s < 1 << direct:
            return s
        length = direct + 1 + (s - (1 << direct) >> cut)
        top = 1 << cut | (s - (1 << direct) & (1 << cut) - 1)
        return top << length - 1 - cut | stream.low(length - 1 - cut)

    return read


class Bits:
    def __init__(self, data):
        self.all, self.at = int.from_bytes(data, "little"), 0

    def low(self, n):
        self.at += n
        return self.all >> self.at - n & (1 << n) - 1

    def zeros(self):
        """The 0 bits before the next 1."""
        n = 0
        while not self.low(1):
            n += 1
        return n

    def level(self):
        n = self.zeros() + 1
        return self.low(n) | 1 << n

    def gamma(self, b):
        n = self.zeros()
        return self.low(b + n - 1) | 1 << b + n - 1 if n else self.low(b)


def fewer_bits(name, data):
    """The bytes of a code with parts and buckets, from its numbers in fewer bits."""
    width_of, scalars, number = BUCKETS[name]
    r = Reader(data)
    parts, bucket = r.leb(), r.leb()
    head, body = struct.pack("<2I", parts, bucket), b""
    for _ in range(parts):
        count, setting = r.leb(), r.leb()
        head += struct.pack("<2I", count, setting)
        width = width_of(setting)
        body += r.bytes((1 if name in BYTES else 4) * scalars * ((count + bucket - 1) // bucket))
        if count == 0:
            continue
        stream = Bits(data[r.at :])
        way = stream.low(2)
        if way == 0:
            need(r.bytes(1) == b"\0", "a way with more bits")
            body += r.bytes((count * width + 7) // 8)
            continue
        if way == 3:
            b = stream.low(5)
            run, value = lambda: stream.gamma(b), stream.level
        else:
            run = prefix_code(stream, 4, 1) if way == 2 else None
            value = prefix_code(stream, 9, 3)
        fields, at = 0, 0
        while at < count:
            at += run() if run else 0
            if at < count:
                x, top = value(), 1 << (width - 1)
                f = x >> 1
                if x == 1 and name != "minmax":
                    f = top
                elif name in ("grid", "int-block"):
                    f = (-f if x & 1 else f) & (2 * top - 1)
                else:
                    f = f | top * (x & 1) if name != "minmax" else x
                fields |= f << at * width
                at += 1
        need(at == count, "a run of zeros beyond the numbers")
        r.bytes((stream.at + 7) // 8)
        need(stream.low(-stream.at % 8) == 0, "padding that is not 0")
        body += fields.to_bytes((count * width + 7) // 8, "little")
    last = r.leb()
    body += r.bytes(8 * last) + struct.pack("<Q", last)
    need(not any(data[r.at :]) and len(data) <= max(r.at, (len(head + body) + 1023) // 1024), "bytes behind the numbers")
    return head + body


def signs(name, data, count):
    """The numbers of the codes of one bit a number."""
    parts = struct.unpack("<I", data[:4])[0]
    at, found = 4 + 12 * parts, []
    for i in range(parts):
        c, *value = struct.unpack("<I2f", data[4 + 12 * i : 16 + 12 * i])
        found += [value[bit(data[at:], j)] for j in range(len(found), len(found) + c)]
    need(len(found) == count and len(data) == at + (count + 7) // 8, "%d of %d numbers" % (len(found), count))
    need(not any(bit(data[at:], j) for j in range(count, 8 * (len(data) - at))), "padding that is not 0")
    return found


def least(name, data, count):
    """The numbers of the code `least`."""
    parts = struct.unpack("<I", data[:4])[0]
    at = 4 + 8 * parts
    flags, floats = data[at : at + (count + 3) // 4], data[at + (count + 3) // 4 :]
    found, begin = [], 0
    for i in range(parts):
        c, magnitude = struct.unpack("<If", data[4 + 8 * i : 12 + 8 * i])
        for j in range(begin, begin + c):
            flag = flags[j // 4] >> 2 * (j % 4) & 3
            need(flag < 3, "number %d is a float with a sign beside it" % j)
            if flag == 1:
                found.append(struct.unpack("<f", floats[:4])[0])
                floats = floats[4:]
            else:
                found.append(-magnitude if flag else magnitude)
        begin += c
    need(len(found) == count and not floats, "%d of %d numbers, and %d bytes" % (len(found), count, len(data)))
    return found


def factors(name, data, count):
    """The numbers of the code `factors`."""
    parts = struct.unpack("<I", data[:4])[0]
    found, at = [], 4 + 12 * parts
    for i in range(parts):
        c, rows, rank = struct.unpack("<3I", data[4 + 12 * i : 16 + 12 * i])
        columns = c // rows if rows else 0
        size = rank * (rows + columns) if rows else c
        x = struct.unpack("<%df" % size, data[at : at + 4 * size])
        at += 4 * size
        need(rows == 0 or (columns * rows == c and rank <= min(rows, columns)), "part %d is no matrix" % i)
        right = x[rank * rows :]
        for j in range(c):
            terms = (x[r * rows + j // columns] * right[r * columns + j % columns] for r in range(rank)) if rows else [x[j]]
            found.append(sum(terms))
    need(len(found) == count and at == len(data), "%d of %d numbers, and %d bytes" % (len(found), count, len(data)))
    return found


def lookup(name, data, count):
    """The numbers of the code `lookup`."""
    parts = struct.unpack("<I", data[:4])[0]
    at, found = 4 + 20 * parts, []
    for i in range(parts):
        c, *value = struct.unpack("<I4f", data[4 + 20 * i : 24 + 20 * i])
        found += [value[data[at + j // 4] >> 2 * (j % 4) & 3] for j in range(len(found), len(found) + c)]
    need(len(found) == count and len(data) == at + (count + 3) // 4, "%d of %d numbers" % (len(found), count))
    need(count % 4 == 0 or data[-1] >> 2 * (count % 4) == 0, "padding that is not 0")
    return found


def tagged(name, data, count):
    """The numbers of the code `inceptionn`."""
    r = Reader(data)
    size = r.one("f")
    tags, places = r.bytes((count + 3) // 4), r.array("Q", (count + 1023) // 1024)
    begin, found = r.at, []
    for j in range(count):
        need(j % 1024 or places[j // 1024] == r.at - begin, "the place of number %d" % j)
        tag = tags[j // 4] >> 2 * (j % 4) & 3
        if tag in (1, 2) and size == 0:
            k, sign = signed(r.one("BH"[tag - 1]), 8 * tag)
            found.append(sign * (k or 0.5) / 2 ** (6, 14)[tag - 1])
        else:
            found.append(r.one("f") if tag == 3 else f32(size * r.one("bh"[tag - 1])) if tag else 0)
    need(r.at == len(data), "bytes behind the numbers")
    return found


# name, kind and width of a number; or, where it has no fixed width, what reads numbers
CODES = {0: ("fp32", "f", 4), 1: ("fp16", "e", 2), 2: ("levels", buckets, 0), 3: ("bf16", "H", 2),
         16: ("signs", signs, 0), 17: ("signs-rms", signs, 0), 18: ("signs-fixed", signs, 0), 19: ("two-means", signs, 0),
         32: ("natural", buckets, 0), 33: ("natural-8", buckets, 0), 34: ("grid", buckets, 0), 35: ("8bit", buckets, 0),
         36: ("natural-dithering", buckets, 0), 37: ("int-block", buckets, 0), 38: ("minmax", buckets, 0),
         39: ("eden", buckets, 0), 40: ("sketch-quantile", buckets, 0), 41: ("inceptionn", tagged, 0),
         42: ("fp8", buckets, 0), 43: ("mxfp8", buckets, 0), 44: ("nvfp4", buckets, 0),
         64: ("least", least, 0), 65: ("factors", factors, 0),
         80: ("lookup", lookup, 0)}


def messages(path):
    r = Reader(open(path, "rb").read())
    while r.at < len(r.data):
        begin = r.at
        first, row, parameter = r.bytes(3)
        need(first >> 4 == 1, "version %d" % (first >> 4))
        name, kind, width = CODES[first & 15 | row & 0xF0]
        fewer, row = row & 8, row & 7
        n, count, payload = r.leb(), r.leb(), r.leb()
        size = width * count if width else r.leb()
        travels = r.leb() if fewer else size
        where = positions(row, parameter, n, count, r.bytes(payload - travels))
        data = fewer_bits(name, r.bytes(travels)) if fewer else r.bytes(size)
        need(len(data) == size, "%d bytes of numbers in place of %d" % (len(data), size))
        numbers = struct.unpack("<%d%s" % (count, kind), data) if width else kind(name, data, count)
        if name == "bf16":
            numbers = [struct.unpack("<f", struct.pack("<I", x << 16))[0] for x in numbers]
        print(r.at - begin, name, row, n, " ".join("%d:%g" % pair for pair in zip(where, numbers)))


# ---- files ----

def sealed(data):
    need(sha(data[:-64]) == data[-64:], "the file does not have its hash")


def checkpoint(path, series, recording=None):
    data = open(path, "rb").read()
    r = Reader(data)
    sealed(data)
    need(r.bytes(16) == b"sg-checkpoint/5\0", "another magic")
    lines = open(series, "rb").read()
    header = json.loads(lines.split(b"\n", 1)[0])
    need(r.text(72) == header["cell_key"], "another key")
    program, of_data = r.text(64).split(" ", 1)
    need(header["program"]["identity"].startswith(program), "another program: " + program)
    dataset = header["dataset"]
    need(of_data.split()[-1][:16] in json.dumps(dataset), "other data: " + of_data)
    of_series, of_recording = r.bytes(64), r.bytes(64)
    step, updates, series_bytes, d, x_bytes, floats, workers, residuals, common, of_workers, recorded = r.array("Q", 11)
    of_segments, order = r.array("Q", 2)
    need(order == 1, "another order of bytes")
    need(updates == step, "%d updates of x in %d steps" % (updates, step))
    totals = r.array("d", 6)
    need(r.at == 432, "a preamble of %d bytes" % r.at)
    need(sha(lines[:series_bytes]) == of_series, "not the hash of the series")
    if recorded:
        inputs = open(recording, "rb").read()
        shape = json.loads(inputs.split(b"\n", 1)[0])
        part = inputs.index(b"\n") + 1 + step * (8 + shape["workers"] * (8 + 4 * d))
        need(sha(inputs[:part]) == of_recording, "not the hash of the recording")
    else:
        need(of_recording == bytes(64), "a hash of no recording")
    need(totals[0] == step and totals[2] * 64 == totals[1] and totals[3] >= totals[2], "sums %s" % (totals,))
    x = r.bytes(x_bytes)
    optimizer = r.array("f", floats)
    controlled = "accordion" in json.dumps(header) or "budget" in json.dumps(header)
    shared = r.array("d", common // 8) if controlled else r.array("f", common // 4)
    need(of_workers % workers == 0 or common, "workers of different sizes")
    spare = (of_workers - 4 * d * workers * residuals) // 4
    errors, sums = [], ()
    for w in range(workers):
        errors.append(r.array("f", d * residuals))
        if not controlled:  # the feedback rule's vectors, of every worker
            sums += r.array("f", spare // workers)
        elif w == 0:
            sums = r.array("f", spare)
    segments = json.loads(r.bytes(of_segments))
    need(segments[-1]["to_step"] == step and segments[0]["from_step"] == 0, "segments %s" % segments)
    need(r.at == len(data) - 64, "%d bytes before the hash are not told" % (len(data) - 64 - r.at))
    norm = sum(v * v for e in errors for v in e) / workers
    off = None
    if not controlled and len(shared) == d and len(sums) == d * workers:  # ef21: the sum of all h, h = g - e
        off = max(abs(shared[j] - sum(sums[w * d + j] - errors[w][j] for w in range(workers))) for j in range(d))
    print(json.dumps({"step": step, "d": d, "x_sha256": sha(x).decode(), "error_norm": norm, "bits": totals[1], "padded": totals[3],
                      "bytes": totals[4], "total_error": totals[5], "optimizer": sum(v * v for v in optimizer),
                      "floats": floats, "common": shared, "sums": len(sums), "sum": sum(v * v for v in sums), "off": off}))


def recording(path):
    data = open(path, "rb").read()
    line = data[: data.index(b"\n") + 1]
    h = json.loads(line)
    d, n = sum(h["layers"]), h["workers"]
    gradients = line.startswith(b'{"schema":"sparsetrain-gradients/2"')
    need(gradients or line.startswith(b'{"schema":"sparsetrain-inputs/2"'), "another schema")
    need(("rows" in h) == gradients and ("names" not in h or gradients), "rows or names")
    need(all(e % r == 0 for e, r in zip(h["layers"], h.get("rows", h["layers"]), strict=True)), "rows of layers")
    r = Reader(data, len(line))
    sent, norm = [], []
    for t in range(h["steps"]):
        need(r.at == len(line) + t * (8 + n * (8 + 4 * d)), "a record at %d" % r.at)
        gamma = r.one("d")
        total = 0
        for _ in range(n):
            total += r.one("Q")
            norm.append(sum(v * v for v in r.array("f", d)))
        sent.append(total / n)
    need(data[r.at :] == sha(data[: r.at]), "not the checksum")
    print(json.dumps({"gamma": gamma, "sent": sum(sent), "d": d, "workers": n, "first": norm[:n], "steps": len(sent)}))


def cache(path):
    """What follows the header of a cache, and the key."""
    data = open(path, "rb").read()
    r = Reader(data)
    need(r.bytes(8) == b"SGCACHE\n", "another magic")
    version, zero = r.array("I", 2)
    need(version == 1 and zero == 0 and r.one("Q") == len(data), "a header of version %d" % version)
    key, rest, check = r.bytes(64), r.bytes(40), r.bytes(64)
    need(rest == bytes(40) and r.at == 192, "unused bytes")
    blocks = b"".join(sha(data[at : at + (1 << 20)]) + b"\0" for at in range(192, len(data), 1 << 20))
    need(sha(data[:128] + blocks) == check, "not the checksum")
    return r, key


def matrix(path):
    r, key = cache(path)
    storage, zero = r.array("I", 2)
    m, d, entries = r.array("Q", 3)
    text = r.bytes(64)
    need(zero == 0, "unused bytes")

    def array(kind, n):
        need(not any(r.bytes(-r.at % 64)), "bytes between the arrays")
        return r.array(kind, n)

    label = array("d", m)
    rows = []
    if storage == 3:
        start, column, value = array("Q", m + 1), array("I", entries), array("d", entries)
        for i in range(m):
            rows.append({column[j] + 1: value[j] for j in range(start[i], start[i + 1])})
    else:
        value = array({1: "f", 2: "d", 4: "h"}[storage], m * d)
        rows = [{j + 1: value[i * d + j] for j in range(d) if value[i * d + j]} for i in range(m)]
    need(r.at == len(r.data), "bytes behind the arrays")
    print(storage, m, d, key.decode(), text.decode())
    for y, row in zip(label, rows):
        print("%+d" % y, " ".join("%d:%.17g" % item for item in sorted(row.items())))


def c_hex(x):
    """As C's %a writes it: no zeros behind the point."""
    digits, exponent = float(x).hex().split("p")
    return (digits.rstrip("0").rstrip(".") if "." in digits else digits) + "p" + exponent


def doubles(path, what, of_data, l2):
    r, key = cache(path)
    asked = "sparsegrad 1\n%s\n%s\n%s\n" % (what, of_data, c_hex(l2))
    need(sha(asked.encode()) == key, "not the key")
    need(path.endswith("-%s.cache" % key[:16].decode()), "not the key's name")
    count = (len(r.data) - r.at) // 8
    value = r.array("d", count)
    need(r.at == len(r.data), "bytes behind the doubles")
    print(json.dumps({"count": count, "value": value}))


def prefix(bits, n):
    """Prints n integers behind the description of a prefix code V, of a text of bits that has nothing else."""
    stream = Bits(int(bits[::-1], 2).to_bytes(len(bits) // 8 + 1, "little"))
    read = prefix_code(stream, 9, 3)
    print(*[read() for _ in range(int(n))])
    need(stream.at == len(bits), "bits behind the integers")


what = {"prefix": prefix, "message": messages, "checkpoint": checkpoint, "recording": recording, "matrix": matrix,
        "doubles": doubles}
what[sys.argv[1]](*sys.argv[2:])
