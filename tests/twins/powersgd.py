"""PowerSGD (Vogels et al., NeurIPS 2019) once more, from its definition: reads `twin powersgd`, says how many steps agree.

Sums are in double and rounded once, in the order that the library states: products with rows in 16 interleaved sums,
products with columns by ascending row, P Q' by ascending column."""
# SPDX-License-Identifier: MIT

import math
import sys

from common import START, Stream, bits, f32, floats


def dot(x, y):
    lane = [0.0] * 16
    for i, (a, b) in enumerate(zip(x, y)):
        lane[i % 16] += a * b
    total = 0.0
    for v in lane:
        total += v
    return total


def orthonormal(columns):
    """Gram-Schmidt, twice for every column; what lies in the span of the others becomes 0."""
    done = []
    for x in columns:
        whole = math.sqrt(dot(x, x))
        for _ in range(2):
            for q in done:
                part = dot(q, x)
                x = [f32(v - part * u) for v, u in zip(x, q)]
        norm = math.sqrt(dot(x, x))
        done.append([f32(v / norm) if norm > 2.0**-20 * whole else 0.0 for v in x])
    return done


class Layer:
    def __init__(self, shape, rank, normals):
        self.rows, self.columns = shape
        self.rank = min(rank, self.rows, self.columns)
        if self.rows == 1 or self.rank * (self.rows + self.columns) >= self.rows * self.columns:
            self.rank = 0
        self.q = [normals[k * self.columns : (k + 1) * self.columns] for k in range(self.rank)]

    def row(self, m, i):
        return m[i * self.columns : (i + 1) * self.columns]

    def times_q(self, m):
        return [[f32(dot(self.row(m, i), q)) for i in range(self.rows)] for q in self.q]

    def transposed_times_p(self, m):
        out = []
        for p in self.p:
            total = [0.0] * self.columns
            for i in range(self.rows):
                total = [t + p[i] * x for t, x in zip(total, self.row(m, i))]
            out.append([f32(t) for t in total])
        return out

    def product(self, q):
        """P q', in double."""
        out = []
        for i in range(self.rows):
            total = [0.0] * self.columns
            for p, column in zip(self.p, q):
                total = [t + p[i] * x for t, x in zip(total, column)]
            out += total
        return out


def add(columns):
    """The sum over workers in their order, in floats that start at 0."""
    total = [0.0] * len(columns[0])
    for x in columns:
        total = [f32(a + b) for a, b in zip(total, x)]
    return total


def step(layer, parts, local):
    """What workers' p of this layer become: the sum, and each one's residual."""
    if layer.rank == 0:
        return add(parts), [[0.0] * len(p) for p in parts]
    sent = [layer.times_q(m) for m in parts]
    layer.p = orthonormal([add([s[k] for s in sent]) for k in range(layer.rank)])
    back = [layer.transposed_times_p(m) for m in parts]
    for k in range(layer.rank):
        q = add([b[k] for b in back])
        if dot(q, q) > 0:
            layer.q[k] = q
        else:
            layer.p[k] = [0.0] * layer.rows
    total = [f32(x) for x in layer.product(layer.q)]
    normalize(layer)
    if local:
        own = [layer.product(layer.transposed_times_p(m)) for m in parts]
        return total, [[f32(x - y) for x, y in zip(m, o)] for m, o in zip(parts, own)]
    return total, [[f32(x - f32(s / len(parts))) for x, s in zip(m, total)] for m in parts]


def normalize(layer):
    """Divides the columns of Q by powers of two, so that the next M Q has the size of M."""
    layer.q = [[f32(math.ldexp(v, -math.frexp(math.sqrt(dot(q, q)))[1])) for v in q] for q in layer.q]


def fresh(number):
    """The layers with a new random Q; GRACE for PyTorch makes it orthonormal."""
    stream, layers = Stream(seed, START, 0, number), []
    for shape in shapes:
        layers.append(Layer(shape, rank, [f32(stream.normal()) for _ in range(shape[0] * shape[1])]))
        if grace:
            layers[-1].q = orthonormal(layers[-1].q)
    return layers


steps = wrong = 0
for line in sys.stdin:
    word, *rest = line.split()
    if word == "case":
        rank, local, grace, workers, seed = (int(float(x)) for x in rest[:5])
        shapes = [tuple(map(int, x.split("x"))) for x in rest[5:]]
        layers, t = fresh(0), 0
        e = [[0.0] * sum(a * b for a, b in shapes) for _ in range(workers)]
        g, kept = [], []
    elif word == "g":
        g.append(floats(rest))
    elif word == "sum":
        stated = [int(x, 16) for x in rest]
    elif word == "e":
        kept.append([int(x, 16) for x in rest])
        if len(kept) < workers:
            continue
        p = [[f32(a + b) for a, b in zip(x, y)] for x, y in zip(e, g)]
        total, at, e = [], 0, [[] for _ in range(workers)]
        for layer in layers:
            n = layer.rows * layer.columns
            part, rests = step(layer, [x[at : at + n] for x in p], local)
            total += part
            for mine, r in zip(e, rests):
                mine += r
            at += n
        right = [bits(x) for x in total] == stated and [[bits(x) for x in y] for y in e] == kept
        if not right:
            print("wrong: rank", rank, "local", local, "step", steps)
        steps += 1
        wrong += not right
        g, kept, t = [], [], t + 1
        if grace:
            layers = fresh(t)
print(f"{steps} steps, {wrong} wrong")
sys.exit(wrong > 0 or steps < 60)
