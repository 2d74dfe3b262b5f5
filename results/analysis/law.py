"""The law of a threshold at finite density: what a random walk sends that is set to 0 where it leaves (-1, 1).

Usage: python3 results/analysis/law.py [SHARE]...

A share V of the steps sends. Under the law V is s^2 for steps of deviation s, and the mean square of what waits is 1/6.
A walk of finite steps leaves beyond the threshold, by 0.583 s in the mean (Siegmund, Sequential Analysis, 1985), so V
is s^2 / (1 + 0.583 s)^2. For each share, by default 0.0009 to 0.08, prints s from this, what a simulated walk sent,
and its mean square over 1/6. results/WHY.md compares them with runs. Python's standard library is enough."""
# SPDX-License-Identifier: MIT

import random
import sys

OVERSHOOT = 0.583
STEPS = 400000
SEED = 3


def deviation(share):
    """The s at which the law at finite density sends this share."""
    root = share ** 0.5
    return root / (1 - OVERSHOOT * root)


def walk(s):
    """The share that a walk of steps of deviation s sends, and the mean square of where it waits."""
    rng = random.Random(SEED)
    x = square = 0.0
    sent = 0
    for _ in range(STEPS):
        x += rng.gauss(0, s)
        if abs(x) >= 1:
            x = 0.0
            sent += 1
        square += x * x
    return sent / STEPS, square / STEPS


def main():
    print("# share    steps' deviation  sent     mean square / law")
    for share in [float(a) for a in sys.argv[1:]] or [0.0009, 0.0031, 0.0089, 0.02, 0.032, 0.064, 0.08]:
        s = deviation(share)
        sent, square = walk(s)
        print(f"{share:<10g} {s:<17.4f} {sent:<8.4f} {6 * square:.2f}")


if __name__ == "__main__":
    main()
