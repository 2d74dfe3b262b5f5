"""What becomes of the sum of signs: the majority vote of signSGD (Bernstein et al., ICLR 2019)."""

import numpy as np

SETTINGS = ["signsgd", "signsgd tie=1 workers=4 feedback=none", "signsgd workers=3 feedback=momentum steps=4"]


def step(case, ps, step):
    signs = [np.where(p < 0, np.float32(-1), np.float32(1)) for p in ps]
    votes = np.sign(np.sum(signs, axis=0))
    votes[votes == 0] = case.number("tie", 0)
    return [len(ps[0])] * len(ps), len(ps) * votes, [p - s for p, s in zip(ps, signs)]
