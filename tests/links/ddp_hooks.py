"""ddp_hooks.py: times steps of DistributedDataParallel with sparsegrad's hook, with PyTorch's hooks and without one.

    ddp_hooks.py time RANK WORLD STORE OUT    one of the processes; rank 0 writes the times of all hooks to OUT
    ddp_hooks.py report OUTPUT RATE-WORLD.json...
                                              all of them as one result; RATE is in Mbit/s

The script `run` starts them with one namespace each. The model, its data and its buckets of 4 MiB are the same for all.
Each step is timed on every process, from the forward pass to the end of the optimizer's step; the slowest one counts.
The first steps, in which PyTorch cuts its buckets and PowerSGD sends whole gradients, are not timed. PyTorch's PowerSGD
hook gets one bucket of the whole model: with several under way, processes start their second rounds in orders of their
own, which gloo ends with an error (seen with 2.15)."""
# SPDX-License-Identifier: MIT
import json
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "lib" / "method"))
import libsparsegrad  # noqa: E402
import libsparsegrad.ddp  # noqa: E402

LAYERS, SIDE, BATCH, BUCKET, FIRST, SECONDS, LEAST, MOST = 4, 1024, 32, 4, 3, 2.0, 4, 20


def power_sgd(_, model):
    state = powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=2, start_powerSGD_iter=2)
    model.register_comm_hook(state, powerSGD_hook.powerSGD_hook)


def own(text, **options):
    def register(net, model):
        libsparsegrad.ddp.register(model, text, group_bytes=BUCKET << 20, **options)

    return register


PLAIN, POWER_SGD = "DistributedDataParallel", "PyTorch powerSGD_hook, rank 2"
HOOKS = {
    PLAIN: lambda net, model: None,
    "PyTorch fp16_compress_hook": lambda net, model: model.register_comm_hook(None, default_hooks.fp16_compress_hook),
    POWER_SGD: power_sgd,
    "none": own("none"),
    "none, whole model": own("none", whole=True),
    "fp16": own("fp16"),
    "powersgd rank=2": own("powersgd rank=2"),
    "qsgd": own("qsgd"),
    "8bit": own("8bit"),
    "sign-l2": own("sign-l2"),
    "topk density=0.01": own("topk density=0.01"),
    "randomk density=0.01 shared=1": own("randomk density=0.01 shared=1"),
}


def network():
    layers = (layer for _ in range(LAYERS) for layer in (torch.nn.Linear(SIDE, SIDE), torch.nn.Tanh()))
    return torch.nn.Sequential(*layers)


def step(model, optimizer, x):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()


def run(name, rank):
    """Seconds of each timed step, the slowest process of each."""
    torch.manual_seed(0)
    net = network()
    model = torch.nn.parallel.DistributedDataParallel(net, bucket_cap_mb=1024 if name == POWER_SGD else BUCKET)
    HOOKS[name](net, model)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    torch.manual_seed(1 + rank)
    x, times, go_on = torch.randn(BATCH, SIDE), [], True
    for _ in range(FIRST):
        step(model, optimizer, x)
    while go_on:
        dist.barrier()
        start = time.perf_counter()
        step(model, optimizer, x)
        slowest = torch.tensor([time.perf_counter() - start], dtype=torch.float64)
        dist.all_reduce(slowest, dist.ReduceOp.MAX)
        times.append(float(slowest))
        go_on = len(times) < LEAST or (len(times) < MOST and sum(times) < SECONDS)
    assert all(torch.isfinite(p).all() for p in net.parameters())
    return times


def alone():
    """Seconds of a step of one process that exchanges nothing, while all processes compute."""
    net = network()
    optimizer, x, times = torch.optim.SGD(net.parameters(), lr=0.01), torch.randn(BATCH, SIDE), []
    for _ in range(FIRST + MOST):
        start = time.perf_counter()
        step(net, optimizer, x)
        times.append(time.perf_counter() - start)
    return statistics.median(times[FIRST:])


def time_hooks(rank, world, store, out):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    dist.barrier()
    result = {"step_alone_s": alone(), "hooks": {}}
    for name in HOOKS:
        result["hooks"][name] = run(name, rank)
    if rank == 0:
        pathlib.Path(out).write_text(json.dumps(result))
    dist.barrier()
    dist.destroy_process_group()


def processor():
    cpu = [line for line in open("/proc/cpuinfo") if line.startswith("model name")]
    return cpu[0].split(":")[1].strip() if cpu else None


def report(output, *files):
    results = []
    for file in sorted(files, key=lambda f: [int(n) for n in pathlib.Path(f).stem.split("-")]):
        rate, world = map(int, pathlib.Path(file).stem.split("-"))
        one = json.loads(pathlib.Path(file).read_text())
        plain = statistics.median(one["hooks"][PLAIN])
        results += [{"mbit_per_s": rate, "processes": world, "hook": name, "step_s": statistics.median(times),
                     "plain_over_this": plain / statistics.median(times), "step_alone_s": one["step_alone_s"],
                     "samples_s": times} for name, times in one["hooks"].items()]
    machine = {"kernel": platform.release(), "cpu": processor(), "cores": os.cpu_count(),
               "measured_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())}
    model = {"layers": [f"{SIDE}x{SIDE}", str(SIDE)] * LAYERS, "parameters": LAYERS * SIDE * (SIDE + 1), "batch": BATCH,
             "bucket_mib": BUCKET}
    describe = ["git", "-C", pathlib.Path(__file__).parent, "describe", "--always", "--dirty", "--abbrev=10", "--exclude=*"]
    program = {"version": libsparsegrad.version, "torch": torch.__version__,
               "commit": subprocess.run(describe, capture_output=True, text=True).stdout.strip()}
    document = {"schema": "ddp-hooks/1", "program": program, "machine": machine, "model": model, "results": results}
    pathlib.Path(output).write_text(json.dumps(document, indent=1) + "\n")
    for r in results:
        print(f"{r['mbit_per_s']:5} Mbit/s {r['processes']} {r['hook']:32} {1e3 * r['step_s']:8.1f} ms "
              f"{r['plain_over_this']:6.2f}")


if __name__ == "__main__":
    mode, *rest = sys.argv[1:]
    if mode == "time":
        time_hooks(int(rest[0]), int(rest[1]), *rest[2:])
    else:
        report(*rest)
