"""sparsegrad_ddp.py: a communication hook that compresses what PyTorch's DistributedDataParallel exchanges.

    model = torch.nn.parallel.DistributedDataParallel(net)
    model.register_comm_hook(State(net, "topk density=0.01"), hook)

Every process is one worker with a residual of its own. The gradient of the whole model is one vector, whose layers are
the parameters of the net in their order, so it does not matter how PyTorch cuts it into buckets. Its message is made
when the last bucket is there: nothing is sent while the backward pass runs. The messages of all processes are gathered,
decoded and added in the order of the ranks. So every process has the same mean, bit for bit, and messages and residuals
are those that the trainer of sparsegrad makes of the same gradients.

The optimizer is PyTorch's; to the method the learning rate is always 1. Gradients of a GPU go through host memory.
Error feedback whose workers have parameters of their own (cser, local-steps, dynamic-averaging) is refused. A checkpoint
of a run needs state.residual and state.step of every process, and the method's own state (sg_method_common_save) if it
has some."""
import numpy as np
import torch
import torch.distributed as dist

from sparsegrad import Method


class State:
    """The method, this process's residual, and the gradient as its buckets come. `net` is the module that
    DistributedDataParallel was given, `text` a method of sg_flat.h, `group` one for host memory (gloo)."""

    def __init__(self, net, text, group=None):
        parameters = [p for p in net.parameters() if p.requires_grad]
        sizes = [p.numel() for p in parameters]
        self.group = group if group is not None else dist.new_group(backend="gloo")
        self.at = {p.data_ptr(): end - p.numel() for p, end in zip(parameters, np.cumsum(sizes))}
        self.method = Method(text, sizes, workers=dist.get_world_size(self.group), first=dist.get_rank(self.group),
                             count=1, rows=[p.shape[0] if p.dim() > 1 else 1 for p in parameters])
        self.gradient = np.zeros(sum(sizes), np.float32)
        self.residual, self.step, self.waiting = self.method.residual(), 0, []

    def gather(self, own):
        """The bytes of every process, in the order of the ranks."""
        sizes = [torch.zeros(1, dtype=torch.int64) for _ in range(self.method.workers)]
        dist.all_gather(sizes, torch.tensor([len(own[0])]), group=self.group)
        mine = torch.zeros(max(map(int, sizes)), dtype=torch.uint8)
        mine[: len(own[0])] = torch.frombuffer(bytearray(own[0]), dtype=torch.uint8)
        every = [torch.empty_like(mine) for _ in sizes]
        dist.all_gather(every, mine, group=self.group)
        return [t[: int(n)].numpy().tobytes() for t, n in zip(every, sizes)]

    def exchange(self):
        """Compresses the gradient; returns the mean over all processes of what they sent."""
        total = self.method.step(self.step, [self.gradient], [self.residual], self.gather)
        self.step += 1
        return total / np.float32(self.method.workers)


def _parts(state, parameters, vector):
    """The places of these parameters in a vector of the whole model."""
    for p in parameters:
        at = state.at[p.data_ptr()]
        yield vector[at : at + p.numel()]


def hook(state, bucket):
    """Takes the bucket's gradients. The futures of all buckets are completed with the last one."""
    parameters, gradients, buffer = bucket.parameters(), bucket.gradients(), bucket.buffer()
    for to, g in zip(_parts(state, parameters, state.gradient), gradients):
        to[:] = g.detach().float().cpu().numpy().ravel()
    future = torch.futures.Future(devices=[buffer.device] if buffer.is_cuda else None)
    state.waiting.append((future, parameters, gradients, buffer))
    if bucket.is_last():
        mean = state.exchange()
        for done, parameters, gradients, buffer in state.waiting:
            for g, part in zip(gradients, _parts(state, parameters, mean)):
                g.copy_(torch.from_numpy(part).view_as(g))  # the gradients are parts of the buffer
            done.set_result(buffer)
        state.waiting = []
    return future
