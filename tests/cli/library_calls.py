"""library_calls.py: wrong calls of libsparsegrad, each of which must raise; right ones, what they count and list."""
# SPDX-License-Identifier: MIT
import copy
import os
import pickle
import signal
import tempfile

import numpy as np

import libsparsegrad
from libsparsegrad import Method, topk

F, refusals = np.float32, 0


def refused(words, call):
    global refusals
    try:
        call()
    except (RuntimeError, TypeError, ValueError) as error:
        assert words in str(error), f"{error} does not say: {words}"
    else:
        raise AssertionError(f"not refused: {words}")
    refusals += 1


def ones(n=6):
    return np.ones(n, F)


def fixed(x):
    x.flags.writeable = False
    return x


def step(gradients, residuals, text="topk k=1", gather=lambda own: own, rate=1.0, number=0, **how):
    return Method(text, [6], **how).step(number, gradients, residuals, gather, rate)


# The example of README, and a gradient that is not finite.
e = np.zeros(6, F)
index, value = topk(np.array([1, -5, 2, 4, -3, 0], F), e, 2)
assert list(index) == [1, 3] and list(value) == [-5, 4] and list(e) == [1, 0, 2, 0, -3, 0]
refused("NaN or Inf", lambda: topk(np.full(6, np.nan, F), ones(), 2))

# Arrays: types, flags, lengths, overlaps.
unaligned = np.zeros(25, np.uint8)[1:].view(F)
refused("float64", lambda: topk(np.zeros(6), e, 2))
refused(">f4", lambda: topk(ones().astype(">f4"), e, 2))
refused("contiguous and aligned", lambda: topk(ones(12)[::2], e, 2))
refused("contiguous and aligned", lambda: topk(np.broadcast_to(F(1), (6,)), None, 2))
refused("contiguous and aligned", lambda: topk(unaligned, None, 2))
refused("list", lambda: topk([1.0, 2.0], None, 1))
refused("MaskedArray", lambda: topk(np.ma.masked_array(ones(), ones() > 0), None, 1))
refused("has 5 numbers, not 6", lambda: topk(ones(), ones(5), 1))
refused("read-only", lambda: topk(ones(), fixed(ones()), 1))
refused("read-only", lambda: topk(ones(), np.frombuffer(bytes(24), F), 1))
with tempfile.TemporaryFile() as file:
    file.write(bytes(24))
    file.flush()
    refused("read-only", lambda: topk(ones(), np.memmap(file, F, "r"), 1))
refused("overlaps", lambda: topk(e, e, 1))
refused("read-only", lambda: libsparsegrad.decode(fixed(ones()), b""))
refused("bytes, not str", lambda: libsparsegrad.decode(ones(), "abc"))
# Numbers.
for k in -1, 7, 2**64 + 1:
    refused(f"k is {k}", lambda k=k: topk(ones(), None, k))
refused("not a whole number", lambda: topk(ones(), None, 1.5))
refused("threads is 0", lambda: topk(ones(), None, 1, threads=0))
# A method.
refused("did you mean 'density'?", lambda: Method("topk densty=0.1", [6]))
refused("cser", lambda: Method("topk k=2; error-feedback=csr", [6]))
refused("is a text", lambda: Method("topk k=1\0 garbage", [6]))
refused("is a text", lambda: Method(None, [6]))
refused("not a whole number", lambda: Method("topk k=1", [3.7, 2]))
refused("size of a layer is -5", lambda: Method("topk k=1", [10, -5]))
refused("sum of all sizes", lambda: Method("topk k=1", [2**62] * 4))
refused("at least one layer", lambda: Method("topk k=1", []))
assert "Workers" in dir(libsparsegrad) and "binding" not in dir(libsparsegrad)
refused("rows of 1 layers", lambda: Method("powersgd rank=1", [6, 6, 6], rows=[2]))
refused("workers is 0", lambda: Method("topk k=1", [6], workers=0))
refused("first is", lambda: Method("topk k=1", [6], workers=2, first=2**64 - 1, count=2))
# A step.
refused("1 gradients, where the workers of this process have 3", lambda: step([ones()], [ones()] * 3, workers=3))
refused("3 gradients", lambda: step([ones()] * 3, [ones()] * 3))
refused("1 residuals", lambda: step([ones()] * 3, [ones()], workers=3))
refused("NoneType", lambda: step([None], [ones()]))
refused("read-only", lambda: step([ones()], [fixed(ones())]))
refused("overlaps", lambda: step([ones()] * 2, [e, e], workers=2))
refused("overlaps", lambda: step([e], [e]))
refused("step is -1", lambda: step([ones()], [ones()], number=-1))
refused("rate nan", lambda: step([ones()], [ones()], rate=float("nan")))
refused("rate 0.0", lambda: step([ones()], [ones()], rate=0))
for wrong in (lambda own: own), (lambda own: [own[0], bytearray(own[0])]), (lambda own: None):
    refused("2 messages of type bytes", lambda: step([ones()], [ones()], gather=wrong, workers=2, count=1))
# One user at a time, one owner of a handle, and no step after one that failed half way.
method, residual = Method("topk k=1", [6]), ones()
refused("is under way", lambda: method.step(0, [ones()], [residual], lambda own: method.step(1, [ones()], [ones()])))
refused("failed (a step of this method is under way)", lambda: method.step(1, [ones()], [residual]))
for copied in copy.copy, copy.deepcopy, pickle.dumps:
    refused("state that is not copied", lambda: copied(method))
method = Method("topk k=1", [6])
assert list(method.step(0, [ones()], [residual * 0], lambda own: method.close() or own)) == [1, 0, 0, 0, 0, 0]
refused("is closed", lambda: method.step(1, [ones()], [residual]))

# A gradient that is not finite, or large, leaves everything as it was.
method, residual = Method("topk k=1", [6]), ones()
for bad in np.nan, -np.inf:
    refused("NaN or Inf", lambda: method.step(0, [np.array([1, 2, 3, bad, 5, 6], F)], [residual]))
assert list(residual) == [1] * 6
assert method.step(0, [np.full(6, 3e38, F)], [residual * 0])[0] == F(3e38)

# What was sent, by step and in sum. A message of one entry of six has 25 bytes at most, behind its 16.
method = Method("topk k=1", [6], workers=2)
residuals = [method.residual(), method.residual()]
for number in 0, 1:
    method.step(number, [ones(), ones()], residuals)
    assert method.sent.entries == 2 and method.sent.bits == 128, method.sent
    assert 2 * (16 + 5) <= method.sent.bytes <= 2 * (16 + 25), method.sent
assert method.total == method.sent.plus(method.sent), method.total
reduced = Method("fp16", [6])
reduced.step(0, [ones()], [reduced.residual()], reduce=lambda numbers, code: None)
assert reduced.sent == (12, 96, 6), reduced.sent

# State: what goes on from it goes on with the same bits, and what failed goes on again. Other bytes are refused.
text = "topk k=2; error-feedback=dgc-momentum; controller=warm-up from=4 epochs=2; steps=9; steps-per-epoch=2"
method, other = Method(text, [6], workers=2), Method(text, [6], workers=2)
residuals, gradients = [method.residual(), method.residual()], [ones(), np.arange(6, dtype=F)]
for number in range(3):
    method.step(number, gradients, residuals)
kept, state = [r.copy() for r in residuals], method.state()
total = method.step(3, gradients, residuals)
refused("no state of", lambda: other.load(state[:2]))
refused("2 messages", lambda: other.step(0, gradients, [e.copy() for e in kept], gather=lambda own: own[:1]))
refused("load the state before it", lambda: other.step(0, gradients, [e.copy() for e in kept]))
other.load(state)
assert np.array_equal(other.step(3, gradients, kept), total) and all(map(np.array_equal, kept, residuals))

# The tables.
assert len(libsparsegrad.compressors()) > 50 and "ef21" in libsparsegrad.error_feedback()
assert "accordion" in libsparsegrad.controllers() and "levels" in libsparsegrad.codes()
density = libsparsegrad.compressors()["topk"].parameters["density"]
assert density.preset is None and density.least == 0 and density.most == 1 and density.help
for name, row in libsparsegrad.compressors().items():
    assert row.summary and all(p.least <= p.most for p in row.parameters.values()), name

# A child of fork() has none of the parent's threads, and goes on with one.
method, wide = Method("topk k=5; threads=2", [200000]), np.random.default_rng(1).standard_normal(200000).astype(F)
residual = method.residual()
method.step(0, [wide], [residual])
kept = residual.copy()
expected = method.step(1, [wide], [residual])
residual, child = kept, os.fork()
if child == 0:
    signal.alarm(60)
    again = Method("topk k=5; threads=2", [200000])
    os._exit(0 if np.array_equal(again.step(1, [wide], [residual]), expected) else 1)
assert os.waitpid(child, 0)[1] == 0, "the child of fork() hangs, or computes something else"
print(refusals, "calls refused, fork goes on")
