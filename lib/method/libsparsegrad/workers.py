"""workers.py: n workers simulated in one process, as most papers train, on the gradients of PyTorch's parameters."""
# SPDX-License-Identifier: MIT
import numpy as np
import torch

from .method import Method, Sent, is_finite
from .parameters import give, shapes, take


class Workers:
    """Compresses the gradients of n simulated workers by the method `text` of sg_flat.h, and leaves their mean; the
    package's page has an example. Each worker has a residual of its own. Every trainable parameter is a layer, in
    the order given. Sums and residuals are those of the trainer of sparsegrad for the same gradients, bit for bit.
    What lies on a GPU goes through host memory. `sent` is what the workers sent in the last step, added up over
    them, and `total` in all steps."""

    def __init__(self, parameters, text: str, n: int) -> None:
        named = [(f"{i}", p) for i, p in enumerate(parameters) if p.requires_grad]
        self.parameters = [p for _, p in named]
        sizes, rows = shapes(named)
        self.method = Method(text, sizes, workers=n, rows=rows)
        if self.method.is_local():
            raise ValueError(f"'{text}' gives every worker parameters of its own, and here all share theirs")
        ends = np.cumsum(sizes, dtype=np.int64)
        self.places = [slice(end - size, end) for end, size in zip(ends, sizes)]
        self.gradients = np.zeros((n, self.method.n), np.float32)
        self.residuals = [self.method.residual() for _ in range(n)]
        self.number, self.taken = 0, set()

    @property
    def sent(self) -> Sent:
        return self.method.sent

    @property
    def total(self) -> Sent:
        return self.method.total

    def take(self, worker: int) -> None:
        """Takes what stands in the parameters' gradients as worker `worker`'s of this step, and clears them."""
        if not 0 <= worker < len(self.gradients) or worker in self.taken:
            raise ValueError(f"worker {worker} is not one of {len(self.gradients)} whose gradient is missing")
        for p, place in zip(self.parameters, self.places):
            if p.grad is None:
                self.gradients[worker, place] = 0
            else:
                take(self.gradients[worker, place], p.grad)
            p.grad = None
        self.taken.add(worker)

    def step(self, rate: float = 1.0) -> None:
        """Compresses and adds up, and puts the mean over the workers into the parameters' gradients. `rate` is the
        learning rate, for error feedback that works in updates. If a gradient is NaN or Inf, the mean is NaN, and
        residuals and state stay as they were, so that a GradScaler skips the step."""
        missing = [w for w in range(len(self.gradients)) if w not in self.taken]
        if missing:
            raise ValueError(f"step {self.number} has no gradient of these workers: {missing}")
        self.taken.clear()
        if is_finite(self.gradients):
            mean = self.method.step(self.number, list(self.gradients), self.residuals, rate=rate)
            mean /= np.float32(len(self.gradients))
            self.number += 1
        else:
            mean = np.full(self.method.n, np.nan, np.float32)
        for p in self.parameters:
            p.grad = torch.empty_like(p)
        give([p.grad for p in self.parameters], [mean[place] for place in self.places])

    def state_dict(self) -> dict:
        """What a checkpoint between two steps needs, as numbers, texts and tensors."""
        return {"method": self.method.text, "step": self.number,
                "residuals": [None if e is None else torch.from_numpy(e.copy()) for e in self.residuals],
                "state": [torch.from_numpy(part) for part in self.method.state()]}

    def load_state_dict(self, saved: dict) -> None:
        """Goes on where the state_dict was, with the same bits."""
        if saved["method"] != self.method.text or len(saved["residuals"]) != len(self.residuals):
            raise ValueError(f"the state of '{saved['method']}' for {len(saved['residuals'])} workers")
        self.method.load([part.numpy() for part in saved["state"]])
        for e, had in zip(self.residuals, saved["residuals"]):
            if e is not None:
                e[:] = had.numpy()
        self.number = saved["step"]
        self.taken.clear()
