"""ddp_device.py: the hook with gradients and sums on a device, whose kernels are emulated for the CPU's memory.

    EMULATED=build/release/emulation/libsparsegrad_emulated.so ddp_device.py 2 [CASE...]       as ddp_cases.py

Of one process it has a case for a GPU and NCCL, with a library that was built with CUDA, and without EMULATED."""
# SPDX-License-Identifier: MIT
import ctypes as c
import os
import sys
import warnings

import ddp_cases
import torch
import torch.distributed as dist
from ddp_cases import CASES, DDP, backward, batch, grads, net_small, processes, register, same_everywhere
from libsparsegrad import device
from torch.utils._python_dispatch import TorchDispatchMode

CASES.clear()
HOST, EMULATED, CHOOSE = device.kernels, None, device.choose
if "EMULATED" in os.environ:
    EMULATED = c.CDLL(os.environ["EMULATED"])
    c.c_bool.in_dll(EMULATED, "sg_emulated_memory_is_shared").value = True
else:
    ddp_cases.BACKEND = "cpu:gloo,cuda:nccl"
TEXTS = ("topk density=0.05", "topk k=9; error-feedback=gradient", "topk density=0.1; error-feedback=none",
         "hard-threshold lambda=0.002", "none", "fp16", "fp16; error-feedback=none", "bf16; seed=3")


def on(kernels, text, net=None, **options):
    """A model with the hook, its state, and what was warned of."""
    device.kernels = kernels
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            net = net or net_small(300)
            model = DDP(net, bucket_cap_mb=0.02, **options)
            state = register(model, text, group_bytes=1 << 14)
    finally:
        device.kernels = HOST
    return model, state, [str(one.message) for one in said]


def on_device(call):
    device.kernels = EMULATED
    try:
        return call()
    finally:
        device.kernels = HOST


def same_state(a, b):
    a, b = a.state_dict(), b.state_dict()
    assert a["step"] == b["step"], (a["step"], b["step"])
    assert (a["residual"] is None) == (b["residual"] is None)
    return a["residual"] is None or torch.equal(a["residual"], b["residual"])


@processes(2, 3)
def same_bits():
    """Means, residuals, steps and what was sent are those of the host, also behind a step that is not finite anywhere,
    with another scale of the loss, and where it goes on from a state of the host."""
    for text in TEXTS:
        (host, a, _), (there, b, said) = on(HOST, text), on(EMULATED, text)
        assert a.device is None and b.device is not None and not said, (text, said)
        assert len(b.groups) > 1
        for step in range(8):
            x = batch(step)
            if step == 2 and dist.get_rank() == 1:
                x[0, 0] = float("nan")
            if step == 5 and dist.get_rank() == 0:
                x[:] = float("inf")
            if step == 6:
                a.rate = b.rate = 0.5
            one, other = backward(host, x), on_device(lambda: backward(there, x))
            bad = step in (2, 5)
            near = {"none": 1e-6, "fp16": 1e-3, "bf16": 1e-2}.get(text[:4], 0) if dist.get_world_size() > 2 else 0
            if bad:
                assert one.isnan().all() and other.isnan().all(), (text, step)
            else:  # numbers of more than two processes are added in an order of the network's
                assert near and (one - other).norm() <= near * one.norm() or torch.equal(one, other), (text, step)
            assert bad or one.isfinite().all() and one.any()
            same_everywhere(torch.nan_to_num(other))
            assert b.sent.entries == a.sent.entries or bad, (text, step, a.sent, b.sent)
            assert b.sent.bits == a.sent.bits or bad, (text, step, a.sent, b.sent)
            if step % 3 == 1:
                assert same_state(a, b), (text, step)
        assert same_state(a, b) and b.step == 6 and (b.residual is None or text == "none" or b.residual.any())
        again, c_, _ = on(EMULATED, text)
        c_.load_state_dict(b.state_dict())
        c_.rate = 0.5
        x = batch(9)
        assert torch.equal(on_device(lambda: backward(again, x)), on_device(lambda: backward(there, x))), text
        assert same_state(b, c_), text


@processes(2)
def layouts():
    """Channels last, halves and complex numbers: the bits of the host's."""

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.conv = torch.nn.Conv2d(3, 8, 3).to(memory_format=torch.channels_last)
            self.turn = torch.nn.Parameter(torch.randn(8, dtype=torch.complex64))
            self.last = torch.nn.Linear(8, 4).to(torch.bfloat16)

        def forward(self, x):
            x = self.conv(x.view(8, 3, 8, 8).contiguous(memory_format=torch.channels_last)).mean((2, 3))
            return self.last((x * self.turn).real.bfloat16())

    (host, a, _), (there, b, _) = on(HOST, "topk density=0.2", Net()), on(EMULATED, "topk density=0.2", Net())
    assert b.device is not None
    for step in range(3):
        for m in host, there:
            m.zero_grad()
        host(batch(step, 192)).float().square().mean().backward()
        on_device(lambda: there(batch(step, 192)).float().square().mean().backward())
        for p, q in zip(host.parameters(), there.parameters()):
            assert torch.equal(p.grad, q.grad) and p.grad.any()
    assert same_state(a, b)


@processes(2)
def errors():
    """What goes wrong in one process is NaN everywhere in that step; all raise the same words when the next begins."""

    def step(model, number):
        try:
            on_device(lambda: backward(model, batch(number)))
        except RuntimeError as error:
            return str(error)
        return "fine" if grads(model.module).isfinite().all() else "not finite"

    for text in "topk density=0.1", "hard-threshold lambda=0.002", "fp16", "none":
        model, state, _ = on(EMULATED, text)
        assert step(model, 0) == "fine"
        before = state.state_dict()["residual"]
        if dist.get_rank() == 1:
            state.device.problem = ValueError("no room")
        assert step(model, 1) == "not finite", text
        said = step(model, 2)
        assert "rank 1: no room" in said, said
        after = state.state_dict()["residual"]
        assert before is None or torch.equal(before, after)
        assert step(model, 3) == "fine" and state.state_dict()["step"] == 2
    model, state, _ = on(EMULATED, "topk density=0.1")
    take = state.take

    def without(bucket, last):
        if "2.bias" in bucket.names:
            i = bucket.names.index("2.bias")
            del bucket.names[i], bucket.gradients[i]
        take(bucket, last)

    state.take = without
    assert step(model, 0) == "not finite"
    assert "without gradients of these parameters: 2.bias" in step(model, 1)


@processes(2)
def words():
    """A method that works on the host says so where gradients are on a device; one that works there says nothing."""
    for text in "powersgd rank=2", "qsgd", "topk density=0.1 | levels levels=15", \
            "topk density=0.1; controller=warm-up; steps=8; steps-per-epoch=2":
        _, state, said = on(EMULATED, text)
        assert state.device is None and len(said) == 1 and "go through host memory" in said[0], (text, said)
    _, state, said = on(EMULATED, "topk k=3", find_unused_parameters=True)
    assert state.device is None and "used is known on the host" in said[0]
    assert on(HOST, "powersgd rank=2")[2] == []


class Reads(TorchDispatchMode):
    """Counts how often the host reads a number of a tensor, as item() does."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += func is torch.ops.aten._local_scalar_dense.default
        return func(*args, **(kwargs or {}))


@processes(2)
def waits():
    """In a step of a CNN the host waits for nothing, but for the lengths of a threshold's messages, once a group."""
    torch.manual_seed(0)
    for text, waits in ("topk density=0.01", 0), ("hard-threshold lambda=0.002", 1), ("fp16", 0), ("none", 0):
        net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3), torch.nn.ReLU(), torch.nn.Conv2d(16, 32, 3),
                                  torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(32 * 16, 10))
        model, state, _ = on(EMULATED, text, net)
        heard, hear = [], state.device.hear
        state.device.hear = lambda numbers: heard.append(numbers) or hear(numbers)
        emulated = c.c_ulong.in_dll(EMULATED, "sg_emulated_waits")
        for step in range(3):
            x = batch(step, 192).view(8, 3, 8, 8)
            loss, before = model(x).square().mean(), emulated.value
            del heard[:]
            with Reads() as reads:
                on_device(loss.backward)
            groups = len(state.groups)
            assert groups > 1 and len(heard) == waits * groups and emulated.value == before
            assert reads.count == (step > 0), reads.count  # of the last step's status, which is on the host already
            model.zero_grad()
        print(f"{text}: {groups} groups, {len(state.sizes)} parameters, {len(heard)} waits a step", flush=True)


@processes(1)
def gpu():
    """On a GPU: the bits of the method on the host, which gets the same gradients by copies of its buckets."""
    for text in TEXTS:
        models = []
        for choose in CHOOSE, lambda state, model: (None, ""):
            device.choose = choose
            model = DDP(net_small(300).cuda(), bucket_cap_mb=0.02)
            models.append((model, register(model, text, group_bytes=1 << 14)))
        (there, a), (host, b) = models
        assert a.device is not None and b.device is None and len(a.groups) > 1
        for step in range(6):
            x = batch(step).cuda()
            if step == 2:
                x[0, 0] = float("nan")
            one, other = backward(there, x), backward(host, x)
            assert torch.equal(torch.nan_to_num(one, 7.0), torch.nan_to_num(other, 7.0)), (text, step)
            assert one.isfinite().all() == (step != 2)
        assert same_state(a, b) and a.step == 5, text


if __name__ == "__main__":
    ddp_cases.main(int(sys.argv[1]), *sys.argv[2:])
