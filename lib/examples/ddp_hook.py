"""ddp_hook.py: PyTorch's DistributedDataParallel with a compressor, two processes on one machine.

    pip install libsparsegrad-*.whl                      from `make wheel`; or set PYTHONPATH to share/sparsegrad/python
    torchrun --standalone --nproc-per-node=2 ddp_hook.py "topk density=0.05"

Every process prints the loss of all processes at the start and at the end, which are the same numbers in each."""
# SPDX-License-Identifier: MIT
import sys

import torch
import torch.distributed as dist
from libsparsegrad.ddp import register

dist.init_process_group("gloo")
torch.manual_seed(0)  # the same model in every process
model = torch.nn.parallel.DistributedDataParallel(
    torch.nn.Sequential(torch.nn.Linear(20, 64), torch.nn.Tanh(), torch.nn.Linear(64, 1)))
state = register(model, sys.argv[1] if len(sys.argv) > 1 else "topk density=0.05")  # this line is all
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

torch.manual_seed(1 + dist.get_rank())  # other data in every process
x = torch.randn(256, 20)
y = x[:, :1] * x[:, 1:2]
losses = []
for step in range(200):
    optimizer.zero_grad()
    loss = torch.nn.functional.mse_loss(model(x), y)
    loss.backward()  # gradients arrive compressed and averaged, the same in every process
    optimizer.step()
    mean = loss.detach().clone()
    dist.all_reduce(mean)
    losses.append(mean.item() / dist.get_world_size())
print(f"loss {losses[0]:.4f} at the start, {losses[-1]:.4f} at the end")

saved = state.state_dict()  # of every process, for a checkpoint; state.load_state_dict(saved) goes on from it
state.load_state_dict(saved)
dist.destroy_process_group()
