"""coding_rows.py: what `make bench-compressors` measured, as lib/net/net_coding_cpu.c.

usage: coding_rows.py results/bench-compressors.json > lib/net/net_coding_cpu.c
"""
# SPDX-License-Identifier: MIT
import json
import sys

document = json.load(open(sys.argv[1]))
rows = {}
for r in document["results"]:
    if r["operation"] == "compress" and r["time_s"] and r["decode_s"] is not None and r["k"] > 0 and r["compressor"] not in rows:
        encode_s = max(0, r["time_s"]["median"] - r["decode_s"])
        rows[r["compressor"]] = (1e9 * encode_s / r["n"], 1e9 * r["decode_s"] / r["k"])
host = document["host"]
first = document["results"][0]
print(f"""/* net_coding_cpu.c: nanoseconds of encoding and decoding, from results/bench-compressors.json by
 * tests/bench/coding_rows.py: {host["cpu"]}, {first["back_end"]}, {first["threads"]} threads. number_ns is that
 * of adding one number of a message to the sum. */
/* SPDX-License-Identifier: MIT */
#include "net_private.h"

const struct sg_coding net_coding_cpu[] = {{""")
for name, (element, number) in rows.items():
    if name != "none":
        print(f'    {{"{name}", {element:.3g}, {number:.3g}}},')
print("    {NULL, 0, 0},\n};")
