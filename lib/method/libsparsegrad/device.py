"""device.py: groups of layers whose gradient, residual and sum stay on a GPU, for ddp.py.

Top-k, hard-threshold and the codes fp16, bf16 and none have kernels that only enqueue work on a stream. So does a step
here: the backward pass goes on beside it. A group travels over the model's own processes, by NCCL:

    topk             an all-gather of messages, whose length is known
    hard-threshold   an all-gather of the lengths, for which the host waits, then one of messages, padded to the longest
    none, fp16, bf16 an all-reduce

Sums and residuals have the bits of the same method on the CPU. Each process says in its message how it is. What makes a
step bad reaches the gradients on the device, and the host hears of it when the next step begins."""
# SPDX-License-Identifier: MIT
import contextlib
import ctypes as c
import re
import weakref

import numpy as np
import torch
import torch.distributed as dist

from .binding import library, pointer_t, sg_halves_write, size_t
from .method import Method, Sent
from .parameters import give, real
from .processes import HALVES

kernels = library  # with CUDA; a test has the same kernels for the memory of the CPU
HEAD = 4  # words before a message: struct sg_cuda_result, which has status, layer and number of entries, and a free one
BROKEN = 1 << 16  # a status that no kernel has: this process failed
TEXT = (r"\s*(?P<name>topk|top-k|hard-threshold|none|fp16|bf16)(\s+(lambda|density|k)=[0-9.eE+-]+)?\s*"
        r"(;\s*(error-feedback=(update|gradient|none)|(seed|threads)=\d+)\s*)*")
ILL = 1024  # what a failed process adds to the last number of an all-reduce, and one that is not finite adds 1


class _Select(c.Structure):  # struct sg_cuda_select
    _fields_ = [("g", pointer_t), ("e", pointer_t), ("scale", c.c_float), ("decay", c.c_float), ("index", pointer_t),
                ("value", pointer_t), ("count", pointer_t), ("result", pointer_t)]


class _Entries(c.Structure):  # struct sg_cuda_entries
    _fields_ = [("index", pointer_t), ("value", pointer_t), ("count", pointer_t)]


def _checked(name, *args):
    if getattr(kernels, name)(*args) != 0:
        kernels.sg_cuda_last_error.restype = c.c_char_p
        raise RuntimeError(f"{name} failed on the GPU: {kernels.sg_cuda_last_error().decode()}")


def _reach():
    """The type of device whose memory the kernels take; None = this library was built without them."""
    if hasattr(kernels, "sg_emulated_waits"):
        return "cpu"
    return "cuda" if hasattr(kernels, "sg_cuda_open") else None


def choose(state, model):
    """The Device of a state, or None and in a few words why its gradients go through the host ("" = they are there)."""
    where = {p.device for p in state.parameters}
    first = next(iter(where))
    there, of = _reach(), getattr(model, "process_group", None) or dist.group.WORLD
    way = re.fullmatch(TEXT, state.text)
    if first.type == "cpu" and there != "cpu":
        return None, ""
    if there != first.type or len(where) > 1:
        return None, "this library was built without CUDA" if len(where) == 1 else "they lie on several devices"
    if way is None or state.whole:
        return None, "only topk, hard-threshold, none, fp16 and bf16 with their own numbers have kernels there"
    if state.tracks:
        return None, "which parameters were used is known on the host"
    if first.type == "cuda" and of._get_backend(first).name() != "nccl":
        return None, "the model's processes do not use NCCL"
    with torch.cuda.device(first) if first.type == "cuda" else contextlib.nullcontext():
        return Device(state, way["name"].replace("top-k", "topk"), first, of), ""


def most_of_halves(code, workers):
    """The largest half of which the sum over all processes is finite: what the largest float becomes on the host."""
    half, largest = torch.empty(1, dtype=HALVES[code]), np.full(1, np.finfo(np.float32).max, np.float32)
    sg_halves_write(half.data_ptr(), None, largest.ctypes.data, 1, workers, code == "bf16")
    return float(half)


class DeviceGroup:
    """The part of a group of layers that is on the device. Nothing here waits, but `exchange` of a threshold."""

    def __init__(self, device, group, sizes):
        self.of, self.group, self.n = device, group, int(sum(sizes))
        self.gradient, self.mean = (device.new(self.n, torch.float32) for _ in range(2))
        self.residual = device.new(self.n, torch.float32) if device.keeps else None
        self.kept, self.rate = None if self.residual is None else self.residual.clone(), 1.0
        if device.way in HALVES or device.way == "none":
            return
        cut = np.concatenate(([0], np.cumsum(sizes))).astype(np.uintp)
        self.work = pointer_t()
        _checked("sg_cuda_open", c.byref(self.work), size_t(len(sizes)), pointer_t(cut.ctypes.data), c.c_uint32(0))
        weakref.finalize(self, kernels.sg_cuda_close, self.work).atexit = False
        alone = Method(device.text, sizes)  # of ones, of which Top-k chooses as many as of anything
        ones = alone.step(0, [np.ones(self.n, np.float32)], [alone.residual()])
        k = np.diff(np.concatenate(([0], np.cumsum(ones != 0)))[cut.astype(np.int64)])
        self.room = int(k.sum()) if device.way == "topk" else self.n
        self.k = torch.tensor(k, dtype=torch.int32, device=device.where)
        self.tau = torch.full((len(sizes),), device.number, dtype=torch.float32, device=device.where)
        self.guess = torch.full((len(sizes),), -1.0, dtype=torch.float32, device=device.where)
        self.head, self.count = device.new(HEAD, torch.int32), device.new(len(sizes), torch.int32)
        self.index, self.value = device.new(self.room, torch.int32), device.new(self.room, torch.float32)

    def exchange(self, failed):
        """mean <- the mean over all processes, NaN where one of them is not well. Returns the worst status of all."""
        if self.residual is not None:
            if self.rate != self.of.state.rate:
                self.residual.mul_(np.float32(self.rate / self.of.state.rate).item())
                self.rate = self.of.state.rate
            self.kept.copy_(self.residual)
        worst = self.reduce(failed) if self.of.way in HALVES or self.of.way == "none" else self.gather(failed)
        self.mean.div_(self.of.workers).masked_fill_(worst != 0, float("nan"))
        return worst

    def reduce(self, failed):
        p = self.gradient
        if self.of.way == "none":
            numbers, rest = p, None
        else:
            type_, most = HALVES[self.of.way], torch.finfo(HALVES[self.of.way]).max
            p = p if self.residual is None else self.residual + p
            sent = p.clamp(-most, most).to(type_).float()
            numbers = (sent / self.of.workers).clamp(-self.of.most, self.of.most).to(type_)
            rest = (p - sent) + (sent - numbers.float() * self.of.workers)
        ill = torch.isfinite(p).all().logical_not_().to(numbers.dtype).add_(ILL if failed else 0)
        sums = torch.cat((numbers, ill.view(1)))
        dist.all_reduce(sums, group=self.of.processes)
        if rest is not None and self.residual is not None:
            self.residual.copy_(rest)
        self.mean.copy_(sums[:-1])
        if rest is not None:
            self.mean.mul_(self.of.workers)
        self.group.sent = Sent(sums.element_size() * self.n, 8 * sums.element_size() * self.n, self.n)
        return torch.where(sums[-1] >= ILL, BROKEN, (sums[-1] != 0).to(torch.int32))

    def gather(self, failed):
        device, e = self.of, self.residual
        select = _Select(self.gradient.data_ptr(), None if e is None else e.data_ptr(), 1, 1, self.index.data_ptr(),
                         self.value.data_ptr(), self.count.data_ptr(), self.head.data_ptr())
        numbers = (self.k, self.guess) if device.way == "topk" else (self.tau,)
        kernel = "sg_cuda_select_topk" if device.way == "topk" else "sg_cuda_select_threshold"
        _checked(kernel, self.work, device.stream(), c.byref(select), *(pointer_t(x.data_ptr()) for x in numbers))
        if failed:
            self.head[0] = BROKEN
        most = self.room
        if device.way != "topk":
            heads = device.hear(device.everyone(self.head))
            most = max(sent for status, _, sent, _ in heads) if not any(one[0] for one in heads) else 0
        every = device.everyone(torch.cat((self.head, self.index[:most], self.value[:most].view(torch.int32))))
        worst = every[:, 0].max()
        counts = torch.where(worst != 0, 0, every[:, 2]).contiguous()  # what a bad message says of itself may be wrong
        entries = (_Entries * device.workers)(*(_Entries(one[HEAD:].data_ptr(), one[HEAD + most:].data_ptr(),
                                                         counts[r:].data_ptr()) for r, one in enumerate(every)))
        self.mean.zero_()
        _checked("sg_cuda_scatter_add_messages", device.stream(), pointer_t(self.mean.data_ptr()), size_t(self.n),
                 entries, size_t(device.workers))
        sent = most if device.way == "topk" else heads[device.rank][2] if most else 0
        self.group.sent = Sent(4 * (HEAD + 2 * most), 64 * sent, sent)
        return worst


class Device:
    """The groups of a state on a device, and what the host is yet to hear of the last step."""

    def __init__(self, state, way, where, processes):
        self.state, self.way, self.where, self.processes = state, way, where, processes
        self.workers, self.rank, self.text = state.workers, state.rank, state.unseeded
        self.keeps = state.residual is not None and way != "none"
        number = re.search(r"lambda=(\S+?)\s*(;|$)", self.text)
        self.number = float(np.float32(float(number[1]))) if number else 0.0
        if way in HALVES:
            self.most = most_of_halves(way, state.workers)
        cuda = where.type == "cuda"
        self.side = torch.cuda.Stream(where) if cuda else None
        self.host = torch.zeros(1, dtype=torch.int32, pin_memory=cuda)
        self.event, self.pending, self.problem, self.failure = torch.cuda.Event() if cuda else None, False, None, None
        lengths = dict(zip(state.name_of.values(), state.sizes))
        self.groups = {g: DeviceGroup(self, g, [lengths[name] for name in g.names]) for g in state.groups}
        self.worst, self.waiting = self.new(1, torch.int32)[0], []

    def new(self, n, dtype):
        return torch.zeros(n, dtype=dtype, device=self.where)

    def hear(self, numbers):
        """What stands there on the device, for which the host waits."""
        return numbers.tolist()

    def stream(self):
        return pointer_t(torch.cuda.current_stream(self.where).cuda_stream if self.side else None)

    def everyone(self, own):
        """[workers][own] of all processes."""
        every = torch.empty(self.workers * own.numel(), dtype=own.dtype, device=self.where)
        dist.all_gather_into_tensor(every, own, group=self.processes)
        return every.view(self.workers, -1)

    def place(self, name):
        group = self.state.group_of[name]
        place, begin = group.places[name], group.whole.start
        return self.groups[group], slice(place.start - begin, place.stop - begin)

    def mean_of(self, name):
        group, place = self.place(name)
        return group.mean[place]

    def take(self, bucket, last):
        """Takes the bucket's gradients, exchanges the groups that are complete, and completes the buckets that have all
        of theirs: all of that is enqueued on a stream of its own, behind what the bucket's stream has."""
        if self.side:
            self.side.wait_stream(torch.cuda.current_stream(self.where))
        with torch.cuda.stream(self.side) if self.side else contextlib.nullcontext():
            self.waiting.append(bucket)
            try:
                if self.failure is None:
                    self.settle()
            except RuntimeError as error:  # the same in all processes, before this step's first exchange
                self.failure = error
            for name in bucket.names:
                self.state.group_of[name].missing.discard(name)
            gradients = [real(g) for g in bucket.gradients]
            give([group.gradient[place].view(g.shape) for (group, place), g in
                  zip(map(self.place, bucket.names), gradients)], gradients)
            for group in self.state.groups if self.failure is None else ():
                if not group.left and (last or not group.missing):
                    self.exchange(group)
            for bucket in list(self.waiting):
                bucket.failure = bucket.failure or self.failure
                if bucket.failure or last or all(self.state.group_of[name].left for name in bucket.names):
                    self.waiting.remove(bucket)
                    bucket.complete(self.state)
            if last:
                self.end()

    def exchange(self, group):
        group.left = True
        if group.missing:
            self.problem = self.problem or self.state.incomplete(group)
        worst = self.groups[group].exchange(self.problem)
        self.worst = torch.maximum(self.worst, worst)

    def end(self):
        """After the last bucket of a step. On the device a bad step is undone in all groups."""
        for group, there in self.groups.items():
            if there.residual is not None and self.failure is None:
                torch.where(self.worst != 0, there.kept, there.residual, out=there.residual)
            group.left, group.missing = False, set(group.names)
        if self.failure is None:
            self.host.copy_(self.worst.view(1), non_blocking=True)
            self.pending = True
            if self.event:
                self.event.record()
            self.state.count_sent()
        self.worst, self.failure = self.new(1, torch.int32)[0], None

    def settle(self):
        """What the last step was: a step that counts, one whose gradients are NaN, or an error, which all raise."""
        if not self.pending:
            return
        self.pending = False
        if self.event:
            self.event.synchronize()
        worst, problem, self.problem = int(self.host[0]), self.problem, None
        if worst >= BROKEN:
            self.state.tell(problem)
        self.state.step += worst == 0

    def save(self):
        """The state's residual <- that of the device, after all that is under way."""
        if self.side:
            self.side.synchronize()
        self.settle()
        for group, there in self.groups.items():
            if there.residual is not None:
                self.state.residual[group.whole] = there.residual.cpu().numpy()
                group.rate = there.rate

    def load(self):
        self.pending, self.problem = False, None
        for group, there in self.groups.items():
            if there.residual is not None:
                there.residual.copy_(torch.from_numpy(self.state.residual[group.whole]))
                there.rate = group.rate
