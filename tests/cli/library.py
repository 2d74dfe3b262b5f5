"""library.py: libsparsegrad and the communication hook beside it against library_reference.c, bit for bit.

    library.py ctypes REFERENCE TEXT         workers of one process, and each with a method of its own
    library.py workers REFERENCE TEXT        Workers, on the parameters of a network
    library.py hashes                        of each compressor's sum, in three steps with its presets
    library.py worker RANK WORLD STORE OUT WAY:TEXT...
                                             one process of a DistributedDataParallel; writes what it did to OUT
    library.py compare REFERENCE OUT...      what these processes did

The ways: `whole`, with register(..., whole=True), gives the reference's messages, residuals and means; `layers` gives its
residuals and means; and `near` the gradients' mean within a tenth, where sums are rounded or compressed again.
"""
# SPDX-License-Identifier: MIT
import hashlib
import pickle
import subprocess
import sys

import numpy as np

STEPS, SHAPES = 6, [(500, 600), (500,), (530, 500), (530,)]  # more than one bucket
SIZES, ROWS = [int(np.prod(s)) for s in SHAPES], [s[0] if len(s) > 1 else 1 for s in SHAPES]
HEAD = 16  # what stands before a message (lib/FORMATS.md)


def reference(program, text, gradients):
    """The messages of every step, the sums and the residuals, of gradients [steps][workers][d]."""
    steps, workers, d = gradients.shape
    layers = [f"{size}:{rows}" for size, rows in zip(SIZES, ROWS)]
    out = subprocess.run([program, str(workers), str(steps), text, *layers], input=gradients.tobytes(), check=True,
                         stdout=subprocess.PIPE).stdout

    at, messages, sums = 0, [], []
    for _ in range(steps):
        sent = []
        rounds, at = int.from_bytes(out[at : at + 8], "little"), at + 8
        for _ in range(rounds * workers):
            length = int.from_bytes(out[at : at + 8], "little")
            sent.append(out[at + 8 : at + 8 + length])
            at += 8 + length
        messages.append(sent)
        sums.append(np.frombuffer(out, np.float32, d, at))
        at += 4 * d
    residuals = np.frombuffer(out, np.float32, workers * d, at).reshape(workers, d)
    assert at + residuals.nbytes == len(out)
    return messages, sums, residuals


def same(what, a, b):
    assert np.asarray(a, np.float32).tobytes() == np.asarray(b, np.float32).tobytes(), f"{what} differ"


def ctypes_page(program, text):
    import libsparsegrad

    workers, d = 3, sum(SIZES)
    gradients = np.random.default_rng(1).standard_normal((STEPS, workers, d)).astype(np.float32)
    messages, sums, residuals = reference(program, text, gradients)
    method = libsparsegrad.Method(text, SIZES, workers=workers, rows=ROWS)
    own = [method.residual() for _ in range(workers)]
    sent = []

    def gather(mine):
        if len(mine[0]) != 8 * len(SIZES):  # not the squares of worker 0's layers
            sent.extend(m[HEAD:] for m in mine)
        return mine

    for t in range(STEPS):
        sent.clear()
        total = method.step(t, gradients[t], own, gather)
        same(f"sums of step {t}", total, sums[t])
        assert sent == messages[t], f"messages of step {t} differ"
    for w in range(workers):
        same(f"residuals of worker {w}", own[w] if own[w] is not None else np.zeros(d), residuals[w])
    print(f"{text}: {sum(map(len, sent))} bytes in the last step")


def hashes():
    import libsparsegrad

    for name, row in libsparsegrad.compressors().items():
        needed = {key: 5 if key == "k" else 0.5 for key, p in row.parameters.items() if p.preset is None}
        needed = {"k": 5} if "k" in needed else needed
        text = " ".join([name, *(f"{key}={value}" for key, value in needed.items())])
        try:
            method = libsparsegrad.Method(text, [600, 31], workers=2, rows=[20, 1])
        except libsparsegrad.Error as error:
            print(text, error)
            continue
        gradients = np.random.default_rng(1).standard_normal((3, 2, method.n)).astype(np.float32)
        residuals, digest = [method.residual() for _ in range(2)], hashlib.sha256()
        for t in range(3):
            digest.update(method.step(t, list(gradients[t]), residuals).tobytes())
        print(text, digest.hexdigest())


def workers_page(program, text):
    import torch

    import libsparsegrad

    n, d = 3, sum(SIZES)
    gradients = np.random.default_rng(1).standard_normal((STEPS, n, d)).astype(np.float32)
    _, sums, residuals = reference(program, text, gradients)
    parameters = [torch.zeros(s, requires_grad=True) for s in SHAPES]
    frozen = torch.zeros(5)
    workers = libsparsegrad.Workers([frozen, *parameters], text, n)
    for t in range(STEPS):
        if t == STEPS // 2:  # from here on another one, from a checkpoint
            saved, workers = workers.state_dict(), libsparsegrad.Workers([frozen, *parameters], text, n)
            workers.load_state_dict(saved)
            before = workers.method.state() + [e.copy() for e in workers.residuals if e is not None]
        for good in (False, True) if t == STEPS // 2 else (True,):  # a step with a NaN changes nothing
            for w in range(n):
                at = 0
                for p in parameters:
                    p.grad = torch.from_numpy(gradients[t, w, at : at + p.numel()].copy()).view_as(p)
                    at += p.numel()
                parameters[0].grad[0, 0] += 0 if good or w != 1 else np.nan
                workers.take(w)
                assert all(p.grad is None for p in parameters)
            workers.step()
            if not good:
                assert all(bool(p.grad.isnan().all()) for p in parameters)
                after = workers.method.state() + [e for e in workers.residuals if e is not None]
                assert all(map(np.array_equal, before, after)) and len(before) == len(after)
        same(f"mean of step {t}", np.concatenate([p.grad.numpy().ravel() for p in parameters]), sums[t] / np.float32(n))
    for w in range(n):
        same(f"residuals of worker {w}", np.zeros(d) if (e := workers.residuals[w]) is None else e, residuals[w])
    for wrong in (lambda: workers.step(), lambda: workers.take(3), lambda: workers.take(0) or workers.take(0),
                  lambda: libsparsegrad.Workers(parameters, "none; error-feedback=cser", n)):
        try:
            wrong()
        except ValueError:
            continue
        raise AssertionError("a wrong call of Workers is not refused")
    assert workers.total.bits > workers.sent.bits > 0
    print(f"{text}: the trainer's bits")


def worker(rank, world, store, out, *cases):
    import torch
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    did = [train(rank, *case.split(":", 1)) for case in cases]
    with open(out, "wb") as f:
        pickle.dump(did, f)
    dist.destroy_process_group()


def train(rank, way, text):
    import torch

    import libsparsegrad.ddp

    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(600, 500), torch.nn.Tanh(), torch.nn.Linear(500, 530))
    assert [tuple(p.shape) for p in net.parameters()] == SHAPES
    model = torch.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=1)
    did = {"way": way, "text": text, "gradients": [], "messages": [], "means": [], "exchanges": 0, "ways": set()}

    class Watched(libsparsegrad.ddp.State):
        def gather(self, own, lane, group=None):
            if group is not None and len(own[0]) != 8 * len(SIZES):
                did["messages"].append(own[0][HEAD:])
            return super().gather(own, lane, group)

        def reduce(self, numbers, code, lane, group):
            did["ways"].add("reduce")
            super().reduce(numbers, code, lane, group)

        def deal(self, own, lane, group=None):
            if group is not None:
                did["ways"].add("gather" if len(set(own)) == 1 else "deal")
            return super().deal(own, lane, group)

        def compress(self, group, step):
            gradient[group.whole] = self.gradient[group.whole]
            super().compress(group, step)

        def exchange(self, *about):
            did["exchanges"] += 1
            return super().exchange(*about)

    state = Watched(model, text, whole=way == "whole")
    gradient = np.empty_like(state.gradient)
    model.register_comm_hook(state, libsparsegrad.ddp.hook)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.manual_seed(1 + rank)
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(torch.randn(4, 600)).square().mean().backward()
        did["gradients"].append(gradient.copy())
        did["means"].append(np.concatenate([p.grad.numpy().ravel() for p in net.parameters()]))
        optimizer.step()
    did["residual"] = state.residual
    did["parameters"] = np.concatenate([p.detach().numpy().ravel() for p in net.parameters()])
    return did


def compare(program, *outs):
    for did in zip(*(pickle.load(open(out, "rb")) for out in outs)):
        compare_case(program, did)


def compare_case(program, did):
    world, d, way, text = len(did), sum(SIZES), did[0]["way"], did[0]["text"]
    gradients = np.stack([[w["gradients"][t] for w in did] for t in range(STEPS)])
    messages, sums, residuals = reference(program, text, gradients)
    rounds = len(messages[0]) // world
    for w, one in enumerate(did):
        if way == "whole":
            mine = [m for t in range(STEPS) for m in messages[t][w::world]]
            assert one["messages"] == mine and len(mine) == STEPS * rounds, f"messages of worker {w} differ"
        if way != "near":
            kept = one["residual"] if one["residual"] is not None else np.zeros(d)
            same(f"residuals of worker {w}", kept, residuals[w])
        for t in range(STEPS):
            if way == "near":
                exact = gradients[t].mean(0, np.float64)
                error = np.linalg.norm(one["means"][t] - exact) / np.linalg.norm(exact)
                assert 0 < error < 0.1, f"means of step {t} are off by {error}"
            else:
                same(f"means of step {t}", one["means"][t], sums[t] / np.float32(world))
        same("parameters", one["parameters"], did[0]["parameters"])
        assert one["exchanges"] == STEPS * (1 if way == "whole" else 2), "these are not the groups of layers"
    assert not np.array_equal(gradients[0, 0], gradients[0, 1]), "the workers saw the same data"
    print(f"{way}:{text}: {world} processes by {' and '.join(sorted(did[0]['ways']))}")


if __name__ == "__main__":
    mode, *rest = sys.argv[1:]
    if mode == "ctypes":
        ctypes_page(*rest)
    elif mode == "hashes":
        hashes()
    elif mode == "workers":
        workers_page(*rest)
    elif mode == "worker":
        worker(int(rest[0]), int(rest[1]), *rest[2:])
    else:
        compare(*rest)
