"""libsparsegrad: gradient compressors with error feedback, on NumPy's arrays and PyTorch's tensors on the CPU.

    index, value = topk(gradient, residual, k=100)

    method = Method("topk density=0.001 | levels levels=15", sizes=[1000, 10], workers=2)
    residuals = [method.residual(), method.residual()]
    total = method.step(0, [gradient_0, gradient_1], residuals)
    print(method.sent.bits, method.total.bytes, list(compressors()))

The texts are those of sg_flat.h, which says what every function here promises. With PyTorch, n workers are simulated
in one process, as most papers do:

    workers = libsparsegrad.Workers(net.parameters(), "topk density=0.01", 8)
    for step in range(1000):
        for w in range(8):
            loss_of(net, batch_of(step, w)).backward()
            workers.take(w)  # its gradient
        workers.step()  # the parameters' gradients are the mean of what the eight sent
        optimizer.step()
    print(workers.total.bits)

libsparsegrad.ddp.register compresses what processes of a DistributedDataParallel exchange. Top-k of 1 % from the first
step on lets a small transformer diverge, in any implementation: begin with `; controller=warm-up` or hard-threshold.

The library of a wheel has no OpenMP: there `threads` changes nothing. Results never depend on it."""
# SPDX-License-Identifier: MIT
from .binding import (Error, Parameter, Row, codes, compressors, controllers, error_feedback, load_plugin, plugins,
                      version)
from .method import Method, Sent, decode, is_finite, steps, topk

__all__ = ["Error", "Method", "Parameter", "Row", "Sent", "Workers", "codes", "compressors", "controllers", "decode",
           "error_feedback", "is_finite", "load_plugin", "plugins", "steps", "topk", "version"]
__version__ = version


def __dir__():
    return __all__


def __getattr__(name):
    if name != "Workers":
        raise AttributeError(f"module 'libsparsegrad' has no attribute '{name}'")
    from .workers import Workers  # needs PyTorch, which all else here does without
    return Workers
