"""buckets.py: a bucket of gradients that PyTorch's DistributedDataParallel hands to a hook, for ddp.py."""
# SPDX-License-Identifier: MIT
import torch


def on_host(buffer):
    """The buffer itself; or of a GPU's one copy, in pinned memory, and the event at whose end it is there."""
    if buffer.device.type == "cpu":
        return buffer, None
    host, event = torch.empty(buffer.shape, dtype=buffer.dtype, pin_memory=True), torch.cuda.Event()
    host.copy_(buffer, non_blocking=True)
    event.record()
    return host, event


class Bucket:
    """A bucket of PyTorch's, whose future is completed when all of its groups are exchanged."""

    def __init__(self, state, bucket):
        self.buffer, self.gradients, self.names, self.failure = bucket.buffer(), [], [], None
        self.host, self.event = on_host(self.buffer) if state.device is None else (self.buffer, None)
        moved = self.host.storage_offset() - self.buffer.storage_offset()
        self.future = torch.futures.Future(devices=[self.buffer.device] if self.buffer.is_cuda else None)
        parameters, gradients = bucket.parameters(), bucket.gradients()
        for p, g in zip(parameters, gradients):
            if id(p) in state.name_of:
                self.names.append(state.name_of[id(p)])
                self.gradients.append(self.host.as_strided(g.size(), g.stride(), g.storage_offset() + moved))
        if len(self.names) < len(parameters):
            self.failure = RuntimeError(f"{len(parameters) - len(self.names)} parameters have gradients, and had none "
                                        "when the hook was registered: register it after all that changes them")
        self.missing = len({id(state.group_of[name]) for name in self.names})

    def arrive(self):
        """Waits for the copy of a GPU's buffer, on the thread that compresses: the backward pass goes on meanwhile."""
        if self.event is not None:
            self.event.synchronize()

    def complete(self, state):
        if self.failure is None:
            # The gradients are parts of the host's buffer, where there is one.
            state.give(self.gradients, self.names)
            if self.host is not self.buffer:
                self.buffer.copy_(self.host, non_blocking=True)
        self.future.set_result(None)

    def result(self, _):
        """On whichever thread completes the future: an error that is raised here reaches the caller in its words."""
        if self.failure is not None:
            raise self.failure
        return self.buffer
