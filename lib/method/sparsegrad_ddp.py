"""sparsegrad_ddp.py: a communication hook that compresses what PyTorch's DistributedDataParallel exchanges.

    model = torch.nn.parallel.DistributedDataParallel(net)
    model.register_comm_hook(State(net, "topk density=0.01"), hook)

Every process is one worker with a residual of its own; the gradient of the whole model is one vector, whose layers are
the parameters of the net in their order. From the last layer on, layers are put together into groups of 25 MiB of
floats, the first of 1 MiB, however PyTorch cuts its own buckets. A thread compresses and exchanges a group once all of
its gradients are there, while the backward pass goes on. Every process gets the same mean, bit for bit. A group travels
in one of these ways:

    all-reduce   numbers that networks add: none, fp16, bf16, random-k with shared positions, PowerSGD's factors.
                 Halves are added as halves, after division by the number of processes, as PyTorch's own hooks do
    two rounds   every element in another code (qsgd, 8bit, sign-l2 and so on), from three processes on: each process
                 gets one slice of everybody's messages, adds it, compresses the mean again, with a residual of its own
                 for what that loses, and sends it to all (1-bit Adam, Tang et al. 2021; CGX, Markov et al. 2022)
    all-gather   all other messages, which every process decodes and adds in the order of the ranks

A controller sets knobs by the whole model: it needs one group of all layers, whose exchange begins when the last
gradient is there. State(..., whole=True) asks for that group with any method, and for all-gather. Then messages, sums
and residuals are bit for bit those that the trainer of sparsegrad makes of the same gradients. Without it, sums and
residuals still are for methods of the third kind that draw nothing. Others differ in the order of addition, the
rounding of halves, or the random draws, for which each group has a seed of its own. In two rounds the second
compression is another algorithm than the trainer's method, and a layer that lies in two slices counts as two.

The optimizer is PyTorch's; to the method the learning rate is always 1. Gradients of a GPU go through host memory.
Error feedback whose workers have parameters of their own (cser, local-steps, diloco, dynamic-averaging) is refused. A
checkpoint of a run needs state.residual and state.step of every process. What a method keeps beside them (momentum,
PowerSGD's last factors, the residuals of second compressions) begins anew after it."""
import concurrent.futures
import functools
import re
import threading

import numpy as np
import torch
import torch.distributed as dist

from sparsegrad import Method, decode, steps

HEAD = 16  # bytes before a message (lib/FORMATS.md)
LANES = 2  # threads, each with connections of its own: one group is compressed while another one travels


class _Group:
    """Layers that are exchanged together: their places in the vector, and a method for each slice."""

    def __init__(self, state, number, sizes, rows, begin):
        n, ways = sum(sizes), state.workers if state.slices else 1
        ways = ways if n >= 1024 * ways else 1
        cuts = [begin + n * i // ways for i in range(ways + 1)]
        at = begin + np.concatenate(([0], np.cumsum(sizes)))
        self.begin, self.awaited, self.missing, self.waiting = begin, len(sizes), len(sizes), []
        self.slices, self.methods, self.again = list(map(slice, cuts, cuts[1:])), [], None
        for i, part in enumerate(self.slices):
            inside = [(min(b, part.stop) - max(a, part.start), r) for a, b, r in zip(at, at[1:], rows)]
            inside = [(length, r if ways == 1 else 1) for length, r in inside if length > 0 or ways == 1]
            lengths, row = zip(*inside)
            seed = state.seed + 1000003 * (number + i)  # the first one is that of the text
            text = f"{state.text}; seed={seed % 2**63}"
            self.methods.append(Method(text, lengths, state.workers, state.rank, 1, row))
            if ways > 1 and i == state.rank:
                kept = "gradient" if self.methods[i].residual() is not None else "none"
                text = f"{state.text.split(';')[0]}; error-feedback={kept}; seed={(seed + 500009) % 2**63}"
                self.again = Method(text, lengths)
                self.residual = self.again.residual()


class State:
    """The methods, this process's residual, and the gradient as its buckets come. `net` is the module that
    DistributedDataParallel was given, `text` a method of sg_flat.h, `group` one for host memory (gloo), by which
    all groups of layers then go one after another."""

    def __init__(self, net, text, group=None, whole=False, group_bytes=25 << 20):
        parameters = [p for p in net.parameters() if p.requires_grad]
        sizes, rows = [p.numel() for p in parameters], [p.shape[0] if p.dim() > 1 else 1 for p in parameters]
        lanes = [group] if group is not None else [dist.new_group(backend="gloo") for _ in range(LANES)]
        self.workers, self.rank = dist.get_world_size(lanes[0]), dist.get_rank(lanes[0])
        ends = list(map(int, np.cumsum(sizes)))
        self.at = {p.data_ptr(): end - p.numel() for p, end in zip(parameters, ends)}
        model = Method(text, sizes, self.workers, self.rank, 1, rows)
        given = re.search(r";\s*seed\s*=\s*(\d+)", text)
        self.seed, self.text = int(given[1]) if given else 0, text.replace(given[0], "") if given else text
        self.whole = whole
        self.slices = not whole and self.workers > 2 and model.may_share()
        self.gradient, self.mean = np.zeros(model.n, np.float32), np.empty(model.n, np.float32)
        self.residual, self.step, self.sent, self.groups = model.residual(), 0, 0, []
        last = len(sizes)
        for first in reversed(range(last)):
            full = 4 * sum(sizes[first:last]) >= (group_bytes if self.groups else min(group_bytes, 1 << 20))
            if first == 0 or full and not whole and model.is_by_layer():
                number, last, here = self.workers * len(self.groups), first, slice(first, last)
                self.groups.append(_Group(self, number, sizes[here], rows[here], ends[first] - sizes[first]))
        for i, g in enumerate(self.groups):
            g.lane = lanes[i % len(lanes)]
        self.threads = {id(lane): concurrent.futures.ThreadPoolExecutor(1) for lane in lanes}
        self.lock = threading.Lock()

    def group_of(self, at):
        return next(g for g in self.groups if g.begin <= at)

    def gather(self, own, lane):
        """The bytes of every process, in the order of the ranks. Each of the others gets a message of its own, which
        needs no padding and uses both directions of a link at once; gloo's all_gather does neither."""
        return self.deal(own * self.workers, lane)

    def deal(self, own, lane):
        """What every process has for this one. `own` has bytes for each of them."""
        sizes = [torch.zeros(self.workers, dtype=torch.int64) for _ in own]
        dist.all_gather(sizes, torch.tensor(list(map(len, own))), group=lane)
        lengths = [int(n[self.rank]) for n in sizes]
        every = torch.empty(sum(lengths), dtype=torch.uint8)
        dist.all_to_all_single(every, torch.frombuffer(bytearray(b"".join(own)), dtype=torch.uint8), lengths,
                               list(map(len, own)), group=lane)
        return [t.numpy().tobytes() for t in every.split(lengths)]

    def reduce(self, numbers, code, lane):
        """Adds the numbers of all processes up, in place."""
        sums = torch.from_numpy(numbers)
        if code == "fp32":
            dist.all_reduce(sums, group=lane)
            return
        halves = sums.div_(self.workers).to({"fp16": torch.float16, "bf16": torch.bfloat16}[code])
        dist.all_reduce(halves, group=lane)
        sums.copy_(halves).mul_(self.workers)

    def exchange(self, group, step):
        """Compresses the group's gradient; self.mean <- the mean over all processes of what they sent."""

        def spread(sums):
            second, own = [], sums[self.rank] / np.float32(self.workers)
            group.again.step(step, [own], [group.residual], lambda message: second.extend(message) or message)
            for total, message in zip(sums, self.gather(second, group.lane)):
                total[:] = 0
                decode(total, message[HEAD:])
                total *= np.float32(self.workers)

        gradients = [self.gradient[part] for part in group.slices]
        residuals = [self.residual[part] if self.residual is not None else None for part in group.slices]
        gather, deal, reduce = (functools.partial(f, lane=group.lane) for f in (self.gather, self.deal, self.reduce))
        ways = (deal, 1.0, None, spread, self.rank) if group.again else (gather, 1.0, None if self.whole else reduce)
        for part, total in zip(group.slices, steps(group.methods, step, gradients, residuals, *ways)):
            np.divide(total, np.float32(self.workers), out=self.mean[part])


class _Bucket:
    """A bucket of PyTorch's, whose future is completed when all of its groups are exchanged."""

    def __init__(self, state, bucket):
        self.parameters, self.gradients, self.buffer = bucket.parameters(), bucket.gradients(), bucket.buffer()
        self.places = [slice(state.at[p.data_ptr()], state.at[p.data_ptr()] + p.numel()) for p in self.parameters]
        self.groups = [state.group_of(place.start) for place in self.places]
        self.missing = len(set(map(id, self.groups)))
        self.future = torch.futures.Future(devices=[self.buffer.device] if self.buffer.is_cuda else None)

    def complete(self, state):
        for g, place in zip(self.gradients, self.places):
            g.copy_(torch.from_numpy(state.mean[place]).view_as(g))  # the gradients are parts of the buffer
        self.future.set_result(self.buffer)


def _run(state, group, step, waiting):
    """On a thread of the state: exchanges a group, and completes the buckets that have all of theirs."""
    try:
        state.exchange(group, step)
        for bucket in waiting:
            with state.lock:
                bucket.missing -= 1
                complete = bucket.missing == 0
            if complete:
                bucket.complete(state)
    except Exception as error:
        for bucket in waiting:
            if not bucket.future.done():
                bucket.future.set_exception(error)


def hook(state, bucket):
    """Takes the bucket's gradients, and sends on their way the groups that are complete."""
    bucket = _Bucket(state, bucket)
    for g, place, group in zip(bucket.gradients, bucket.places, bucket.groups):
        state.gradient[place] = g.detach().float().cpu().numpy().ravel()
        group.missing -= 1
        if bucket not in group.waiting:
            group.waiting.append(bucket)
    for group in {id(g): g for g in bucket.groups}.values():
        if group.missing == 0:
            state.threads[id(group.lane)].submit(_run, state, group, state.step, group.waiting)
            group.missing, group.waiting, state.sent = group.awaited, [], state.sent + 1
    if state.sent == len(state.groups):
        state.sent, state.step = 0, state.step + 1
    return bucket.future
