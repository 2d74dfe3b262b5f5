"""Compares two JSON files in numbers to 1e-9 and in all else word by word: near.py ONE OTHER [KEY...]"""
# SPDX-License-Identifier: MIT
import json
import sys


def compare(a, b, path):
    if isinstance(a, dict) and isinstance(b, dict):
        assert set(a) == set(b), (path, set(a) ^ set(b))
        for key in a:
            compare(a[key], b[key], f"{path}/{key}")
    elif isinstance(a, list) and isinstance(b, list):
        assert len(a) == len(b), (path, len(a), len(b))
        for i, (x, y) in enumerate(zip(a, b)):
            compare(x, y, f"{path}/{i}")
    elif type(a) in (int, float) and type(b) in (int, float):
        assert abs(a - b) <= 1e-9 * max(1, abs(a)), (path, a, b)
    else:
        assert a == b and type(a) is type(b), (path, a, b)


one, other = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:3])
for key in sys.argv[3:] or one:
    compare(one[key], other[key], key)
