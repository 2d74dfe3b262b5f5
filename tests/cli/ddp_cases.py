"""ddp_cases.py: the communication hook in ordinary and extraordinary trainings, over gloo on the loopback.

    ddp_cases.py WORLD CASE...       without a CASE: all that are for WORLD processes

A case is a function below; `processes` names the numbers of processes that it is for. All cases of a world run one
after another in the same processes, which print nothing but the names of those that pass. A case that takes longer than
LIMIT says where each process waits and ends the run."""
# SPDX-License-Identifier: MIT
import faulthandler
import io
import itertools
import os
import sys
import tempfile
import traceback
import warnings

os.environ["OMP_NUM_THREADS"] = "1"
import numpy as np  # noqa: E402
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from torch.nn.parallel import DistributedDataParallel as DDP  # noqa: E402

import libsparsegrad  # noqa: E402
import libsparsegrad.buckets  # noqa: E402
from libsparsegrad.ddp import State, hook, register  # noqa: E402

LIMIT, CASES, BACKEND = 300, [], "gloo"


def processes(*worlds):
    def add(case):
        CASES.append((case, worlds))
        return case

    return add


def net_small(width=64, seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(torch.nn.Linear(32, width), torch.nn.Tanh(), torch.nn.Linear(width, 16))


def batch(step, width=32):
    return torch.randn(8, width, generator=torch.Generator().manual_seed(1000 * step + dist.get_rank()))


def grads(net):
    return torch.cat([(p.grad if p.grad is not None else torch.zeros_like(p)).detach().float().reshape(-1)
                      for p in net.parameters()])


def flat(net):
    return torch.cat([p.detach().reshape(-1) for p in net.parameters()])


def backward(model, x, *more):
    model.zero_grad()
    loss = model(x, *more).float().square().mean()
    loss.backward()
    return grads(model)


def same_everywhere(x):
    top = x.clone()
    dist.all_reduce(top, dist.ReduceOp.MAX)
    assert torch.equal(top, x), f"ranks differ by {float((top - x).abs().max())}"


def summed(x):
    x = torch.as_tensor(np.asarray(x), dtype=torch.float64).clone()
    dist.all_reduce(x)
    return x


def refused(words, call):
    """All processes raise the same sentence, and it has these words."""
    try:
        call()
    except (RuntimeError, TypeError, ValueError) as error:
        said = [None] * dist.get_world_size()
        dist.all_gather_object(said, str(error).split("\n")[0])
        assert all(words in one for one in said), f"{said} do not say: {words}"
        assert len(set(said)) == 1, f"not the same sentence: {said}"
    else:
        raise AssertionError(f"not refused: {words}")


# ---- gradients that are not in host memory


@processes(2)
def staged():
    """A bucket that is copied to host memory, as a GPU's is, is copied once in either direction, and changes no bit."""
    plain, got, copies = libsparsegrad.buckets.on_host, [], []

    class Copy:  # under way until it is waited for
        def __init__(self, buffer):
            copies.append(self)
            self.buffer, self.host, self.waits = buffer, torch.full_like(buffer, float("nan")), 0

        def synchronize(self):
            self.waits += 1
            if self.waits == 1:
                self.host.copy_(self.buffer)

    def staging(buffer):
        copy = Copy(buffer)
        return copy.host, copy

    for on_host in plain, staging:
        libsparsegrad.buckets.on_host = on_host
        try:
            net = net_small(700)
            model = DDP(net, bucket_cap_mb=0.02)
            register(model, "topk density=0.1", group_bytes=1 << 14)
            got.append(torch.stack([backward(model, batch(step)) for step in range(3)]))
        finally:
            libsparsegrad.buckets.on_host = plain
    assert torch.equal(*got) and got[0].any()
    assert 3 < len(copies) < 3 * 4, f"{len(copies)} copies in 3 steps, of several buckets with 4 parameters"
    assert all(copy.waits >= 1 for copy in copies)


# ---- what is not finite

TEXTS = ("topk density=0.1", "none", "fp16", "qsgd", "sign-l2", "powersgd rank=2", "topk k=9; error-feedback=ef21",
         "topk k=9; error-feedback=dgc-momentum", "topk density=0.1; controller=warm-up; steps=8; steps-per-epoch=2")


def without_bad_steps(text, worst, who, where):
    """Steps of which some are not finite leave what the same steps without them leave."""
    outcomes = []
    for bad_steps in ((1, 3), ()):
        net = net_small(700)  # two groups: the last layer's is on its way before the first one's is there
        model = DDP(net, bucket_cap_mb=0.02)
        state = register(model, text, group_bytes=1 << 14)
        for step in (0, 1, 2, 3, 4):
            if step in (1, 3) and not bad_steps:
                continue
            x = batch(step)
            handle = None
            if step in bad_steps and dist.get_rank() in who:
                handle = net[where].weight.register_hook(lambda g: g * worst)
            got = backward(model, x)
            if handle is not None:
                handle.remove()
            assert bool(torch.isfinite(got).all()) == (step not in bad_steps), f"{text}, step {step}"
        assert state.step == 3 and len(state.groups) == (1 if "controller" in text else 2), (state.step, state.groups)
        rest = [part for g in state.groups for m in g.all for part in m.state()]
        rest += [g.residual for g in state.groups if g.again]
        outcomes.append((got, None if state.residual is None else state.residual.copy(), rest))
        state.close()
    (got, residual, rest), (got_0, residual_0, rest_0) = outcomes
    assert torch.equal(got, got_0) and np.array_equal(residual, residual_0), f"{text}: a bad step left something behind"
    assert len(rest) == len(rest_0) and all(map(np.array_equal, rest, rest_0)), f"{text}: state is left behind"


@processes(2, 3)
def nonfinite():
    for text in TEXTS:
        without_bad_steps(text, float("nan"), {1}, 0)
    without_bad_steps("topk density=0.1", float("inf"), {0, 1}, 0)
    without_bad_steps("topk density=0.1", float("-inf"), {0}, 2)

    # The gradient is finite, but not what error feedback adds to it.
    net = net_small()
    model = DDP(net)
    state = register(model, "topk k=1")
    handle = net[0].weight.register_hook(lambda g: torch.full_like(g, 2e38) if dist.get_rank() == 1 else g)
    assert torch.isfinite(backward(model, batch(0))).all()
    kept = state.residual.copy()
    assert not torch.isfinite(backward(model, batch(1))).all() and np.array_equal(state.residual, kept)
    assert state.step == 1
    handle.remove()


@processes(2)
def amp():
    """A GradScaler that begins too high: it skips the same steps as plain DDP's, and trains on."""
    scales = []
    for text in (None, "topk density=0.1", "powersgd rank=2", "fp16"):
        net = net_small()
        model = DDP(net)
        if text is not None:
            register(model, text)
        scaler, log = torch.amp.GradScaler("cpu", init_scale=2.0**127), []
        optimizer = torch.optim.SGD(net.parameters(), 0.1)
        for step in range(8):
            optimizer.zero_grad()
            scaler.scale(model(batch(step)).square().mean() * 100).backward()
            scaler.step(optimizer)
            scaler.update()
            log.append(scaler.get_scale())
        assert torch.isfinite(flat(net)).all() and log[-1] < log[0]
        same_everywhere(flat(net))
        scales.append(log[-1])
    assert scales[0] == scales[1] == scales[3] and scales[2] <= scales[0], scales


# ---- errors

@processes(2, 3)
def errors():
    """An error in one process, in a group of its own: the same sentence in all of them, and the next step is right."""
    for text in ("topk density=0.1", "none", "fp16", "qsgd", "powersgd rank=2"):
        for group in (0, 1):
            net = net_small(700)
            model = DDP(net, bucket_cap_mb=0.02)
            state = register(model, text, group_bytes=1 << 14)
            backward(model, batch(0))
            kept = state.step, None if state.residual is None else state.residual.copy()

            def fail(*_, **__):
                raise MemoryError("no room for the 42 entries")

            if dist.get_rank() == 1:
                state.groups[group].methods[0].step = fail
                compress = state.compress
                state.compress = lambda g, step: fail() if g is state.groups[group] else compress(g, step)
            refused("rank 1: no room for the 42 entries", lambda: backward(model, batch(1)))
            assert state.step == kept[0] and np.array_equal(state.residual, kept[1]), text
            if dist.get_rank() == 1:
                state.compress = compress
            same_everywhere(backward(model, batch(2)))
            state.close()


@processes(2, 3)
def errors_amid():
    """An error between a group's two sums is told with the second one, and one behind it with the next group's."""
    for text, first in ("powersgd rank=2", 0), ("powersgd rank=2", 1), ("none", 1):
        net = net_small(700)
        state = register(model := DDP(net, bucket_cap_mb=0.02), text, group_bytes=1 << 14)
        calls, reduce = [], state.reduce

        def amid(numbers, code, lane, group):
            calls.append(len(calls))
            if first == 0 and calls[-1] == 1 or first == 1 and calls[-1] == len(group.reduces) - 1:
                if first == 1:
                    reduce(numbers, code, lane, group)
                raise MemoryError("no room for the 42 sums")
            reduce(numbers, code, lane, group)

        assert state.rides and len(state.groups[0].reduces) == (2 if "powersgd" in text else 1)
        state.lanes[:] = state.lanes[:1] * len(state.lanes)
        for g in state.groups:
            g.lane = state.lanes[0]  # so that the first group's calls come first
        if dist.get_rank() == 1:
            state.reduce = amid
        refused("rank 1: no room for the 42 sums", lambda: backward(model, batch(0)))
        state.reduce = reduce
        assert state.step == 0 and not np.any(state.residual), text
        same_everywhere(backward(model, batch(1)))
        assert state.step == 1
        state.close()


# ---- membership

class Two(torch.nn.Module):
    """Two branches of which a step uses one."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.a, self.b, self.head = (torch.nn.Linear(32, 64), torch.nn.Linear(32, 64), torch.nn.Linear(64, 16))

    def forward(self, x, which):
        return self.head(torch.tanh((self.a if which == 0 else self.b)(x)))


@processes(2, 3)
def unused():
    """Applied + waiting = all gradients, for branches that all, or some, processes leave out."""
    for text, options in (("topk density=0.05", {}), ("topk density=0.05", {"group_bytes": 1 << 12}), ("sign-l2", {}),
                          ("fp16", {}), ("powersgd rank=2", {"group_bytes": 1 << 12})):
        for rank_decides in (0, 1):
            net = Two()
            model = DDP(net, find_unused_parameters=True)
            state = register(model, text, **options)
            applied = total = waiting = 0
            gradient, compress = np.zeros_like(state.gradient), state.compress

            def watched(group, step):
                gradient[group.whole] = state.gradient[group.whole]
                compress(group, step)

            state.compress = watched
            for step in range(6):
                applied = applied + backward(model, batch(step), (step + rank_decides * dist.get_rank()) % 2)
                total = total + gradient.astype(np.float64)
            second = np.zeros_like(state.residual)
            for g in state.groups:
                if g.again:
                    second[g.slices[state.rank]] += g.residual
            waiting = summed(state.residual) + state.workers * summed(second)
            lost = applied.double() * dist.get_world_size() + waiting - summed(total)
            allowed = 1e-3 if text == "fp16" else 1e-4  # what adding halves rounds nobody knows
            off = float(lost.abs().sum() / summed(total).abs().sum())
            assert off < allowed, f"{text}, {options}: {off}"
            same_everywhere(applied)
            state.close()


@processes(2)
def members():
    """Parameters that DDP treats specially: as with plain DDP, or refused in the same words everywhere."""
    text = "topk density=1"

    def like_plain(prepare, step=lambda net, model, state: None, options=(), make=net_small):
        nets = [make(), make()]
        for net in nets:
            prepare(net)
        plain, model = (DDP(net, **dict(options)) for net in nets)
        state = register(model, text)
        for s in range(3):
            x = batch(s)
            a, b = backward(plain, x), backward(model, x)
            assert torch.equal(a, b), float((a - b).abs().max())
            for net, wrapped in zip(nets, (plain, model)):
                step(net, wrapped, state)
        state.close()

    def swap(net, *_):
        for p in net.parameters():
            p.data = p.data.clone()

    def empty():
        net = net_small()
        net.none = torch.nn.Linear(0, 16, bias=False)
        net.forward = lambda x: torch.nn.Sequential.forward(torch.nn.Sequential(*list(net)[:3]), x) + net.none(x[:, :0])
        return net

    like_plain(lambda net: DDP._set_params_and_buffers_to_ignore_for_model(net, ["0.weight"]))
    like_plain(lambda net: net[0].requires_grad_(False))
    like_plain(lambda net: None, swap)
    like_plain(lambda net: net.to(torch.float32))
    like_plain(lambda net: None, options={"gradient_as_bucket_view": True})
    like_plain(lambda net: None, make=empty)

    sparse = torch.nn.Sequential(torch.nn.Embedding(50, 8, sparse=True), torch.nn.Linear(8, 4))
    refused("'0.weight' has sparse gradients", lambda: register(DDP(sparse), text))
    refused("takes the DistributedDataParallel itself", lambda: State(net_small(), text))
    net = net_small()
    model = DDP(net)
    refused("a communication hook cannot", lambda: register(model, "sparseloco; error-feedback=diloco"))
    refused("did you mean 'density'", lambda: register(model, "topk densty=1"))
    net[0].weight.requires_grad_(False)  # it is in DDP's buckets all the same
    state = register(model, text)
    net[0].weight.requires_grad_(True)
    refused("register it after all that changes them", lambda: backward(model, batch(0)))


@processes(2)
def zero_redundancy():
    from torch.distributed.optim import ZeroRedundancyOptimizer

    net = net_small()
    model = DDP(net)
    register(model, "topk density=0.1")
    optimizer = ZeroRedundancyOptimizer(net.parameters(), torch.optim.SGD, parameters_as_bucket_view=True, lr=0.1)
    for step in range(3):
        backward(model, batch(step))
        optimizer.step()
    same_everywhere(flat(net))


@processes(2)
def groups_incomplete():
    """A parameter whose gradient DDP does not give is named, in every process."""
    net = net_small()
    model = DDP(net)
    state = register(model, "topk density=0.1")
    take = state.take

    def without(bucket, last):
        i = bucket.names.index("2.bias")
        del bucket.names[i], bucket.gradients[i]
        take(bucket, last)

    state.take = without
    refused("without gradients of these parameters: 2.bias", lambda: backward(model, batch(0)))


# ---- numbers

class Fixed(torch.nn.Module):
    """A model whose gradient is its input."""

    def __init__(self, n):
        super().__init__()
        self.w = torch.nn.Parameter(torch.zeros(n))

    def forward(self, x):
        return self.w * x


@processes(2, 3, 4)
def halves():
    """Applied + waiting = the gradients, at both ends of the halves' range."""
    x = torch.tensor([1e5, 6e4, 1.0, 1e-4, 2e-7, 1e-7, 6e-8, 5e-8, 3e-8])
    for text in "fp16", "bf16":
        net = Fixed(len(x))
        state, applied = register(model := DDP(net), text), 0
        for _ in range(16):
            net.zero_grad()
            model(x).sum().backward()
            applied = applied + net.w.grad.double()
        off = (applied + torch.from_numpy(state.residual).double()) / 16 / x.double() - 1
        # What adding halves rounds nobody knows: half a unit of 11 or 8 bits for each addition.
        allowed = (dist.get_world_size() - 1) * 2.0 ** (-11 if text == "fp16" else -8)
        assert off.abs().max() < allowed, f"{text}: {off}"


@processes(2)
def loss_scale():
    """The sum of all updates under a changing loss scale is that under none."""
    sums = []
    for scales in [1.0] * 12, [16.0] * 3 + [8.0] * 3 + [1.0] * 6, [1.0] * 6 + [2.0] * 6:
        net = net_small()
        state, total = register(model := DDP(net), "topk density=0.05"), 0
        for step, scale in enumerate(scales):
            state.rate = 1 / scale
            net.zero_grad()
            (scale * model(batch(step)).square().mean()).backward()
            total = total + grads(net) / scale
        sums.append(total)
    assert all(torch.equal(sums[0], other) for other in sums[1:]), [float((sums[0] - x).norm()) for x in sums]


@processes(2)
def loss_scale_idle():
    """What waits in a layer that a step does not use keeps its unit when the loss scale changes in that step."""
    sums = []
    for scales in [1.0] * 9, [1.0] * 4 + [2.0] * 5:
        net, total = Two(), 0
        state = register(model := DDP(net, find_unused_parameters=True), "topk density=0.05")
        for step, scale in enumerate(scales):
            state.rate = 1 / scale
            net.zero_grad()
            (scale * model(batch(step), int(step == 4)).square().mean()).backward()
            total = total + grads(net) / scale
        sums.append(total)
        state.close()
    assert torch.equal(*sums), float((sums[0] - sums[1]).norm())


class Complex(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.w, self.last = torch.nn.Parameter(torch.randn(32, 16, dtype=torch.complex64)), torch.nn.Linear(16, 4)

    def forward(self, x):
        return self.last((x.to(torch.complex64) @ self.w).abs())


@processes(2)
def types():
    """Complex numbers are pairs of floats; float64 is said to be rounded; a group without matrices goes whole."""
    a, b = Complex(), Complex()
    plain, model = DDP(a), DDP(b)
    register(model, "topk density=1")
    for step in range(3):
        for m in plain, model:
            m.zero_grad()
            m(batch(step)).square().mean().backward()
        assert torch.equal(a.w.grad, b.w.grad) and b.w.grad.imag.abs().sum() > 1
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        register(DDP(net_small().double()), "topk density=1")
    said = [str(one.message) for one in said]
    assert len(said) == 1 and "4 parameters are float64" in said[0] and "train in float32" in said[0], said
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.BatchNorm1d(512), torch.nn.Linear(512, 600))
    state = register(model := DDP(net), "powersgd rank=4; seed=3")
    x = torch.randn(8, 512, generator=torch.Generator().manual_seed(dist.get_rank()))
    own = torch.autograd.grad(net(x).square().mean(), net[0].weight)[0]
    backward(model, x)
    assert len(state.groups) == 2
    assert torch.allclose(net[0].weight.grad.double(), summed(own) / 2, rtol=1e-5, atol=1e-9)


# ---- what processes compare

@processes(2, 3)
def compared():
    rank = dist.get_rank()
    for what, words in ({"text": f"randomk density=0.1 shared=1; seed={rank}"}, "another method"), (
            {"text": "fp16" if rank else "topk density=0.1"}, "another method"), (
            {"text": "topk k=3", "group_bytes": 1 << (12 + 10 * rank)}, "another groups"), (
            {"text": "topk densty=1" if rank == 1 else "topk k=3"}, "rank 1: method"):
        refused(words, lambda: register(DDP(net_small(700)), **what))


@processes(4)
def subgroups():
    """DDP of half of the processes: the mean is the half's, and another state may follow one that is closed."""
    halves = [dist.new_group([0, 1]), dist.new_group([2, 3])]
    mine = halves[dist.get_rank() // 2]
    for _ in range(3):
        net, other = net_small(), net_small()
        model, plain = DDP(net, process_group=mine), DDP(other, process_group=mine)
        state = register(model, "topk density=1")
        for step in range(3):
            a, b = backward(model, batch(step)), backward(plain, batch(step))
            assert torch.equal(a, b) and state.workers == 2
        state.close()
    dist.barrier()


# ---- checkpoints

def texts():
    """A text for every row of the tables that the hook takes, and whether it goes in two rounds of three processes."""
    def complete(text, parameters):
        needed = [name for name, p in parameters.items() if p.preset is None]
        for n in range(len(needed) + 1):
            for names in itertools.combinations(needed, n):
                yield text + "".join(f" {name}={value(name, parameters[name])}" for name in names)

    def value(name, p):
        guesses = {"density": 0.1, "density-max": 0.1, "density-min": 0.05, "k-max": 6, "high": 6, "total": 1000}
        guess = guesses.get(name, 3 if name[0] == "k" else 0.01)
        return max(p.least, min(p.most, guess))

    def accepted(candidates, ends=("",)):
        for text in (a + b for b in ends for a in candidates):
            try:
                method = libsparsegrad.ddp.Method(text, [2048, 64, 1024, 16], 2, 0, 1, [64, 1, 16, 1])
            except RuntimeError:
                continue
            return None if method.is_local() else (text, method.may_share())
        raise AssertionError(f"no text for {list(candidates)}")

    run = "; steps=8; steps-per-epoch=2"
    for name, row in libsparsegrad.compressors().items():
        yield accepted(list(complete(name, row.parameters)), (run, run + "; error-feedback=none"))
    for name, row in libsparsegrad.error_feedback().items():
        yield accepted([f"topk k=5; error-feedback={name}"])
    for name, row in libsparsegrad.controllers().items():
        controlled = "topk k=5", "qsgd", "hard-threshold lambda=0.01", "hard-threshold", "topk density=0.1"
        parts = list(complete(name, row.parameters))
        yield accepted([f"{compressor}; controller={part}" for compressor in controlled for part in parts], (run,))


@processes(2, 3)
def resumed():
    """A run that was resumed, by state_dict or by a file, ends with the bits of one that was not ended."""
    tried = 0
    for text, shares in filter(None, texts()):
        if dist.get_world_size() > 2 and not shares:
            continue
        ends = []
        for stops in False, True:
            net = net_small()
            state = register(model := DDP(net), text, group_bytes=1 << 12)
            for step in range(6):
                if step == 3 and stops:
                    file = io.BytesIO()
                    torch.save({"state": state, "numbers": state.state_dict()} if tried % 2 else
                               {"numbers": state.state_dict()}, file)
                    state.close()
                    file.seek(0)
                    saved = torch.load(file, weights_only=tried % 2 == 0)
                    model = DDP(net)
                    if tried % 2:
                        state = register(model, saved["state"])
                    else:
                        state = register(model, text, group_bytes=1 << 12)
                        state.load_state_dict(saved["numbers"])
                last = backward(model, batch(step))
                with torch.no_grad():
                    for p in net.parameters():
                        p -= 0.1 * p.grad
            assert state.step == 6
            ends.append((flat(net), last, state.residual))
            state.close()
        assert all(np.array_equal(a, b) for a, b in zip(*ends)), f"'{text}' resumes with other bits"
        tried += 1
    assert tried > (70 if dist.get_world_size() == 2 else 10), tried


@processes(4)
def shared_out():
    """Of two processes' residuals four get the same sum over their number; other states are refused everywhere."""
    pair = [dist.new_group([0, 1]), dist.new_group([2, 3])][dist.get_rank() // 2]
    net = net_small()
    old = register(model := DDP(net, process_group=pair), "topk density=0.05")
    backward(model, batch(0))
    kept = [None] * 4
    dist.all_gather_object(kept, old.state_dict())
    new = register(DDP(net), "topk density=0.05")
    new.load_state_dict(kept[:2])
    waiting = sum(one["residual"].double() for one in kept[:2]) / 2
    assert torch.allclose(summed(new.residual) / 4, waiting, rtol=1e-6, atol=0) and new.step == 1
    refused("of 2 with", lambda: new.load_state_dict(kept[0]))
    refused("another method", lambda: new.load_state_dict({**new.state_dict(), "method": "none"}))


# ---- what was sent, what stays open

@processes(2)
def sent():
    net = net_small()
    state = register(model := DDP(net), "topk density=0.1")
    backward(model, batch(0))
    entries = sum(max(1, int(np.ceil(0.1 * p.numel()))) for p in net.parameters())
    assert abs(state.sent.entries - entries) <= 4 and state.sent.bits == 64 * state.sent.entries, (state.sent, entries)
    backward(model, batch(1))
    assert state.total.bytes > state.sent.bytes > 4 * entries, state.total


@processes(2)
def many_states():
    """States of dead models leave no thread and no file open, and have the time limit of the model's processes."""
    import gc

    def now():
        gc.collect()
        return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

    counts = []
    for i in range(6):
        net = net_small()
        model = DDP(net)
        state = register(model, "topk density=0.1")
        backward(model, batch(i))
        limit = state.groups[0].lane._get_backend(torch.device("cpu")).options._timeout
        assert limit == dist.group.WORLD._get_backend(torch.device("cpu")).options._timeout, limit
        del model, state, net
        counts.append(now())
    assert all(last <= max(first) + 12 for last, *first in zip(counts[-1], *counts[:3])), counts


@processes(2)
def two_models():
    """Two models in one backward pass, whose states share a group."""
    nets = [net_small(512), net_small(512, 1)]
    lane, models = dist.new_group(backend="gloo"), [DDP(net) for net in nets]
    for model in models:
        register(model, "topk density=0.1", group=lane, group_bytes=1 << 12)
    for step in range(8):
        x = batch(step)
        for net in nets:
            net.zero_grad()
        (models[0](x).square().mean() + models[1](x).square().mean()).backward()
    same_everywhere(torch.cat([grads(net) for net in nets]))


@processes(2, 3)
def join():
    """Uneven inputs."""
    for text in ("topk density=0.05", "qsgd"):
        net = net_small()
        model = DDP(net)
        register(model, text)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        with model.join():
            for step in range(3 + 2 * dist.get_rank()):
                backward(model, batch(step))
                optimizer.step()
        same_everywhere(flat(net))


# ---- processes

def child(rank, world, store, names, out):
    os.dup2(out.fileno(), 1)
    os.dup2(out.fileno(), 2)
    try:
        warnings.simplefilter("ignore")
        torch.set_num_threads(1)
        dist.init_process_group(BACKEND, init_method=f"file://{store}", rank=rank, world_size=world)
        for case, worlds in CASES:
            if world in worlds and (not names or case.__name__ in names):
                faulthandler.dump_traceback_later(LIMIT, exit=True, file=out)
                case()
                dist.barrier()
                print("ok", case.__name__, flush=True)
        faulthandler.cancel_dump_traceback_later()
        dist.destroy_process_group()
    except BaseException:
        traceback.print_exc()
        sys.stdout.flush()
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)


def main(world, *names):
    with tempfile.TemporaryDirectory() as folder:
        outs = [open(f"{folder}/{rank}", "w+") for rank in range(world)]
        for rank in range(world):
            if os.fork() == 0:
                child(rank, world, f"{folder}/store", names, outs[rank])
        failed = any([os.wait()[1] for _ in range(world)])
        said = [out.seek(0) or out.read() for out in outs]
    print("\n".join(f"rank {rank}:\n{one}" for rank, one in enumerate(said)) if failed else said[0], end="")
    sys.exit(failed)


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
