"""network.py: the modelled seconds of `sparsebench --network` once more, from the specification of the exchanges.

Reads results on stdin, whose records have step and bytes_sent and whose models fit into one bucket, and says how many
final times are wrong. P workers, a seconds a message, b seconds a byte, S bytes of a worker's message. Sources of the
formulas: Thakur, Rabenseifner and Gropp 2005 (ring, doubling, Bruck); Sanders, Speck and Traeff 2009 and NCCL's 0.92
(tree); Jeaugey 2025 (pat); Shi et al. 2019 (gtopk: up a tree and down again); Li and Hoefler 2022 (ok-topk, at most six
k of four bytes); Tang et al. 2021 (two rounds); Bai et al. 2021 (servers among the workers). A star is specified here:
everybody sends at once, K of all messages and of the sums that go back pass the server's link at a time, and the sum of
sparse messages has each position once.
"""
# SPDX-License-Identifier: MIT
import json
import math
import sys


def exchange(name, P, a, b, S, K, down):
    steps = math.ceil(math.log2(P))
    part = (P - 1) / P
    times = {
        "ring": 2 * (P - 1) * a + 2 * part * S * b,
        "tree": 2 * steps * a + {2: 1, 3: 1.5}.get(P, 2) * S * b / 0.92,
        "pat": 2 * steps * a + 2 * part * S * b,
        "two-round": 2 * (P - 1) * a + 2 * part * S * b,
        "all-gather": (P - 1) * (a + S * b),
        "all-gather-bruck": steps * a + (P - 1) * S * b,
        "gtopk": 2 * steps * a + 2 * steps * S * b,
        "parameter-server": (P - 1) * 2 * (a + S / (K or P) * b),
        "star": 2 * a + P * (S + down) / (K or 1) * b,
        "ok-topk": (2 * P + 2 * math.log2(P)) * a + 6 * part * S / 8 * 4 * b,
    }
    whole = P == 2**steps  # else some give their vector to others before, and get the sum behind
    times["recursive-doubling"] = (steps if whole else steps + 1) * (a + S * b)
    if whole:
        times["all-gather-doubling"] = steps * a + (P - 1) * S * b
    fastest = {
        "auto": ("ring", "tree", "pat", "recursive-doubling"),
        "auto-gather": ("all-gather", "all-gather-bruck", "all-gather-doubling"),
        "auto-two-round": ("two-round", "pat"),
    }
    return min(times[n] for n in fastest[name] if n in times) if name in fastest else times[name]


wrong = times = 0
for line in sys.stdin:
    document = json.loads(line)
    n = document["network"]
    P, a, b = n["workers"], n["link"]["alpha_s"], 8 / n["link"]["bits_per_s"] * n["share"]
    K = document["recipe"]["resolved"]["network"].get("servers")
    for r in document["results"]:
        step, sent = r["series"]["step"], r["series"]["bytes_sent"]["mean"]
        seconds = 0
        for i in range(1, len(step)):
            steps = step[i] - step[i - 1]
            S, d = (sent[i] - sent[i - 1]) / steps, r["constants"]["d"]
            down = min(4 * d, 8 * d * (1 - (1 - S / 8 / d) ** P)) if r["compressor"] == "topk" else S
            taken = exchange(n["exchanges"][r["method"]], P, a, b, S, K, down)
            seconds += steps * (n["compute_s"] + taken)
        times += 1
        if not abs(seconds / r["final"]["time"]["mean"] - 1) < 1e-9:
            wrong += 1
            print(f"{r['label']}, {n['model']}: {r['final']['time']['mean']} s, should be {seconds}", file=sys.stderr)
print(f"{times} times, {wrong} wrong")
