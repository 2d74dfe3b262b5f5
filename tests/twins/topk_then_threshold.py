"""Top-k and hard-threshold in turn: one before step `at`, the other from it on, with one residual."""
# SPDX-License-Identifier: MIT

import hard_threshold
import topk

SETTINGS = ["topk-then-threshold k=3 lambda=0.5 at=1012 steps=4", "topk-then-threshold density=0.1 lambda=3 at=1011 feedback=none"]
SETTINGS += ["threshold-then-topk k=40 lambda=0.5 at=1012 steps=4", "threshold-then-topk density=0.01 lambda=3 at=2021"]


def compress(case, p, layer, worker, step):
    twins = [topk, hard_threshold] if case.compressor.startswith("topk") else [hard_threshold, topk]
    return twins[step >= int(case.param["at"])].compress(case, p, layer, worker, step)
