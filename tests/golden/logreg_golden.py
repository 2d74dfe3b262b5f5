"""Golden values of the logistic regression, independent of the library: NumPy long double, and SciPy for the start.
usage: python3 tests/golden/logreg_golden.py > tests/golden/logreg_golden.h"""
# SPDX-License-Identifier: MIT
import sys

import numpy as np
import scipy
import scipy.optimize

M, D = 40, 9
i, j = np.arange(M)[:, None], np.arange(D)[None, :]
A = (((i * 37 + j * 101 + i * j * 13) % 64) - 31) / 16.0
y = np.where(np.arange(M) * 7 % 3 == 0, 1.0, -1.0)
x = ((np.arange(D) * 29) % 17 - 8) / 32.0
L = np.linalg.svd(A, compute_uv=False)[0] ** 2 / (4 * M)
l2 = 1.0 / 64

Al, yl = A.astype(np.longdouble), y.astype(np.longdouble)


def value(x):
    return np.logaddexp(np.longdouble(0), -yl * (Al @ x)).mean() + np.longdouble(l2) / 2 * (x @ x)


def gradient(x):
    return Al.T @ (-yl / (1 + np.exp(yl * (Al @ x)))) / M + np.longdouble(l2) * x


def newton(x):
    for _ in range(8):  # in long double, from SciPy's solution; the linear solve need not be exact
        t = 1 / (1 + np.exp(yl * (Al @ x)))
        h = (A * (np.asarray(t * (1 - t), float) / M)[:, None]).T @ A + l2 * np.eye(D)
        x = x - np.linalg.solve(h, np.asarray(gradient(x), float)).astype(np.longdouble)
    return x


best = scipy.optimize.minimize(lambda x: float(value(x)), np.zeros(D), jac=lambda x: np.asarray(gradient(x), float)).x
best = newton(best.astype(np.longdouble))


def show(name, v):
    v = ", ".join(float(e).hex() for e in np.atleast_1d(v))
    print(f"static const double {name}[] = {{{v}}};")


print(f"/* Written by logreg_golden.py: NumPy {np.__version__}, SciPy {scipy.__version__}, "
      f"Python {sys.version.split()[0]}. */\n/* clang-format off */")
xl = x.astype(np.longdouble)
show("golden_lipschitz", L)
show("golden_row_mean", (A * A).sum(1).mean() / 4)
show("golden_row_max", (A * A).sum(1).max() / 4)
show("golden_value", value(xl))
show("golden_gradient", gradient(xl))
show("golden_optimum", best)
show("golden_optimum_value", value(best))
