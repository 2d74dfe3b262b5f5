"""method.py: one vector without a method, and methods with error feedback for workers of this process.

Vectors are float32, contiguous and aligned, and nothing is copied: what another array or number is passed is refused
with a TypeError or a ValueError before the library sees it. Other errors are a RuntimeError. Where the workers are
processes, each has a Method with `first` and `count`, and functions that the caller gives exchange bytes or add numbers
up (step, ddp.py)."""
# SPDX-License-Identifier: MIT
import contextlib
import ctypes as c
import math
import operator
import threading
from typing import Any, Callable, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

from .binding import (FAILED, GATHER, REDUCE, REFUSED, SPREAD, Error, Vector, apart, part_bytes, part_load, part_save,
                      pointer_t, sg_decode, sg_exchange, sg_layout, sg_method_close, sg_method_has_residuals,
                      sg_method_is_by_layer, sg_method_is_local, sg_method_may_share, sg_method_open_text,
                      sg_method_reads_sum, sg_method_reduces, sg_method_sent, sg_method_step_with, sg_sent, sg_topk, size_t,
                      text_t, vector, whole)


def topk(gradient: Vector, residual: Optional[Vector], k: int, threads: int = 1) -> Tuple[np.ndarray, np.ndarray]:
    """The k largest of residual + gradient: index [k], value [k]. The residual, or None, keeps the rest."""
    g = vector(gradient, None, "the gradient")
    e = None if residual is None else vector(residual, g.size, "the residual", True)
    k, threads = whole(k, "k", 0, g.size), whole(threads, "threads", 1, 1024)
    apart([g], [] if e is None else [e])
    index, value = np.empty(k, np.uint32), np.empty(k, np.float32)
    at = None if e is None else e.ctypes.data
    sg_topk(g.ctypes.data, at, g.size, k, threads, index.ctypes.data, value.ctypes.data)
    return index, value


def decode(total: Vector, message: bytes) -> None:
    """total [n] += a message's bytes, without what stands before it in a step (lib/FORMATS.md)."""
    if not isinstance(message, bytes):
        raise TypeError(f"a message is bytes, not {type(message).__name__}")
    total = vector(total, None, "the sum", True)
    sg_decode(total.ctypes.data, total.size, message, len(message))


# ---- a method


class Sent(NamedTuple):
    """What the own workers sent, added up over them: bytes for the exchange, bits as the method's publication counts
    them, entries."""

    bytes: float = 0
    bits: float = 0
    entries: float = 0

    def plus(self, other: "Sent") -> "Sent":
        return Sent(*map(operator.add, self, other))


class _Handle:
    """A method of the library. It is closed when nobody refers to it any more, and a step does as long as it runs."""

    def __init__(self) -> None:
        self.pointer, self.used, self.failure = pointer_t(), threading.Lock(), None

    def __del__(self) -> None:
        sg_method_close(self.pointer)

    @contextlib.contextmanager
    def use(self, loads=False):
        if not self.used.acquire(blocking=False):
            raise RuntimeError("a step of this method is under way")
        try:
            if self.failure is not None and not loads:
                raise RuntimeError(f"a step of this method failed ({self.failure}): load the state before it, or make "
                                   "another method")
            yield self.pointer
        finally:
            self.used.release()


class Method:
    """Compression with error feedback for workers first .. first + count - 1 of `workers`. sizes has the length of each
    layer, rows how many rows it has as a matrix; 1 = a vector, which all are by default.

    `sent` is what the own workers sent in the last step, `total` in all steps."""

    def __init__(self, text: str, sizes: Sequence[int], workers: int = 1, first: int = 0, count: Optional[int] = None,
                 rows: Optional[Sequence[int]] = None) -> None:
        if not isinstance(text, str) or "\0" in text:
            raise TypeError(f"a method is a text, not {text!r:.40}")
        sizes = [whole(n, "the size of a layer") for n in sizes]
        rows = [1] * len(sizes) if rows is None else [whole(n, "a number of rows") for n in rows]
        if not sizes:
            raise ValueError("a method has at least one layer")
        if len(rows) != len(sizes):
            raise ValueError(f"rows of {len(rows)} layers, sizes of {len(sizes)}")
        self.n, self.text = whole(sum(sizes), "the sum of all sizes"), text
        self.workers, self.first = whole(workers, "workers", 1, 1 << 20), whole(first, "first")
        self.count = self.workers if count is None else whole(count, "count")
        self.sent = self.total = Sent()
        offset = np.concatenate(([0], np.cumsum(sizes, dtype=np.uintp))).astype(np.uintp)
        rows = np.array(rows, np.uintp)
        layout = sg_layout(len(sizes), offset.ctypes.data, None, rows.ctypes.data)
        handle = _Handle()
        about = c.byref(layout), self.workers, self.first, self.count
        sg_method_open_text(c.byref(handle.pointer), text.encode(), *about)
        self._handle: Optional[_Handle] = handle

    def __copy__(self) -> None:
        raise TypeError("a method has state that is not copied: make another Method")

    def __deepcopy__(self, memo: Any) -> None:
        self.__copy__()

    def __reduce__(self) -> Any:
        self.__copy__()

    @property
    def handle(self) -> _Handle:
        if self._handle is None:
            raise RuntimeError("this method is closed")
        return self._handle

    def close(self) -> None:
        """Frees what the library has of it, at the end of a step that is under way."""
        self._handle = None

    def residual(self) -> Optional[np.ndarray]:
        """A residual as it is before the first step; None where error feedback keeps none."""
        return np.zeros(self.n, np.float32) if sg_method_has_residuals(self.handle.pointer) else None

    def _parts(self, pointer: Any) -> List[tuple]:
        """Of each part of its state the length, the functions that save and load it, and their arguments."""
        of = [()] + [(w,) for w in range(self.first, self.first + self.count)]
        return [(part_bytes[len(w)](pointer, *w), part_save[len(w)], part_load[len(w)], (pointer, *w)) for w in of]

    def state(self, into: Optional[List[np.ndarray]] = None) -> List[np.ndarray]:
        """What it keeps between steps beside the residuals: bytes that all workers share, then those of each own one.
        With the residuals and the number of the step this is what a checkpoint needs. `into`, an earlier state of this
        method, is written over."""
        with self.handle.use() as pointer:
            parts = self._parts(pointer)
            into = [np.empty(length, np.uint8) for length, *_ in parts] if into is None else into
            for (_, save, _, of), to in zip(parts, into):
                save(*of, to.ctypes.data)
            return into

    def load(self, state: Sequence[np.ndarray]) -> None:
        """Goes back to where a method of this text, with these sizes and workers, was, also after a failure."""
        with self.handle.use(loads=True) as pointer:
            parts = self._parts(pointer)
            if not (len(state) == len(parts) and all(
                    isinstance(x, np.ndarray) and x.dtype == np.uint8 and x.flags.c_contiguous and x.size == length
                    for x, (length, *_) in zip(state, parts))):
                raise ValueError(f"this is no state of '{self.text}' with these sizes and workers")
            for x, (_, _, load, of) in zip(state, parts):
                load(*of, x.ctypes.data)
            self.handle.failure = None

    def is_local(self) -> bool:
        """True: workers have parameters of their own, and `step` refuses the method."""
        return sg_method_is_local(self.handle.pointer)

    def is_by_layer(self) -> bool:
        """True: layers may have methods of their own, each with its own seed."""
        return sg_method_is_by_layer(self.handle.pointer)

    def reads_sum(self) -> bool:
        """True: a step reads only the sum of gradient and residual, so that each may be handed in as the other."""
        return sg_method_reads_sum(self.handle.pointer)

    def may_share(self) -> bool:
        """True: `steps` takes several methods, for parts whose messages go to one process each."""
        return sg_method_may_share(self.handle.pointer)

    def reduces(self) -> List[Tuple[int, str]]:
        """What each step hands to `reduce`, call by call: how many numbers, and their code. Empty: a step decides."""
        calls, code = [], text_t()
        while count := sg_method_reduces(self.handle.pointer, len(calls), c.byref(code)):
            calls.append((count, code.value.decode()))
        return calls

    def step(self, step: int, gradients: Sequence[Vector], residuals: Sequence[Optional[Vector]],
             gather: Callable[[List[bytes]], Sequence[bytes]] = lambda own: own, rate: float = 1.0,
             reduce: Optional[Callable[[np.ndarray, str], None]] = None) -> np.ndarray:
        """One step of the own workers: the sum over all workers of what was sent. Gradients are arrays [n]; residuals,
        from residual(), are updated in place. gather(bytes of the own workers) returns those of all workers, in their
        order, to every process. Where networks can add messages up, reduce(numbers, code) is called instead, if it is
        given, and replaces the numbers by their sums over all processes. A gradient that is NaN or Inf is refused
        before anything changes; after other failures the method is of no more use."""
        for w, g in enumerate(gradients):
            if not is_finite(vector(g, self.n, f"the gradient of worker {self.first + w}")):
                raise RuntimeError(f"worker {self.first + w}, step {step}: the gradient is NaN or Inf")
        return steps([self], step, gradients, residuals, gather, rate, reduce)[0]


def is_finite(x: np.ndarray) -> bool:
    """True: no number is NaN or Inf. The sum of squares is fast; where it overflows, each number is looked at."""
    flat = x.reshape(-1)
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(np.dot(flat, flat))) or bool(np.isfinite(flat).all())


def steps(methods: Sequence[Method], step: int, gradients: Sequence[Vector], residuals: Sequence[Optional[Vector]],
          gather: Callable[[List[bytes]], Sequence[bytes]], rate: float = 1.0,
          reduce: Optional[Callable[[np.ndarray, str], None]] = None,
          spread: Optional[Callable[[List[np.ndarray]], None]] = None, mine: int = 0,
          into: Optional[List[np.ndarray]] = None) -> List[np.ndarray]:
    """One step of methods that have a part of the vector each: their sums. Gradients and residuals are those of the own
    workers for the first part, then for the second, and so on. With several parts gather(bytes, in the same order)
    returns those of part `mine` of all workers, and spread(sums) completes the sums, of which `mine` is complete. The
    sums are written over `into`, if it is given: memory that is new in each step costs as much as an exchange."""
    lengths = [m.n for m in methods for _ in range(m.count)]
    for xs, what in (gradients, "gradients"), (residuals, "residuals"):
        if len(xs) != len(lengths):
            raise ValueError(f"{len(xs)} {what}, where the workers of this process have {len(lengths)}")
    step, rate, mine = whole(step, "step"), float(rate), whole(mine, "mine", 0, max(len(methods) - 1, 0))
    if not (rate > 0 and math.isfinite(rate)):
        raise ValueError(f"the rate {rate} is not above 0")
    g = [vector(x, n, "a gradient") for x, n in zip(gradients, lengths)]
    e = [None if x is None else vector(x, n, "a residual", True) for x, n in zip(residuals, lengths)]
    apart(g, [x for x in e if x is not None])
    workers, count = methods[0].workers, len(g)
    sums, kept, failed = [np.empty(m.n, np.float32) for m in methods] if into is None else into, [], []

    def guarded(call):
        def guard(_, *args):  # no exception passes through C
            try:
                call(*args)
                return 0
            except BaseException as e:
                failed.append(e)
                args[-1][0].status = FAILED
                return FAILED

        return guard

    def gathered(own, own_size, every, every_size, err):
        messages = gather([c.string_at(own[i], own_size[i]) for i in range(count)])
        listed = isinstance(messages, (list, tuple)) and all(isinstance(m, bytes) for m in messages)
        if not listed or len(messages) != workers:
            raise ValueError(f"gather must return {workers} messages of type bytes, one of each worker")
        kept[:] = (c.c_char_p * workers)(*messages), (size_t * workers)(*map(len, messages))
        every[0], every_size[0] = (c.addressof(part) for part in kept)

    def reduced(numbers, n, code, err):
        reduce(np.ctypeslib.as_array(c.cast(numbers, c.POINTER(c.c_float)), (n,)), code.decode())

    by = sg_exchange(c.sizeof(sg_exchange), GATHER(guarded(gathered)), REDUCE(guarded(reduced)) if reduce else REDUCE(),
                   SPREAD(guarded(lambda _, err: spread(sums))), mine, None)
    handles = [m.handle for m in methods]
    with contextlib.ExitStack() as held:
        part = (pointer_t * len(methods))(*(held.enter_context(h.use()) for h in handles))
        vectors = [(pointer_t * count)(*(None if x is None else x.ctypes.data for x in xs)) for xs in (g, e)]
        totals = (pointer_t * len(methods))(*(x.ctypes.data for x in sums))
        try:
            sg_method_step_with(part, len(methods), step, rate, *vectors, totals, c.byref(by))
        except Error as error:
            for h in handles if error.status not in REFUSED else ():
                h.failure = str((failed or [error])[0])
            raise (failed or [error])[0] from None
        for m, h in zip(methods, handles):
            out = sg_sent()
            sg_method_sent(h.pointer, c.byref(out))
            m.sent = Sent(out.bytes, out.bits, out.entries)
            m.total = m.total.plus(m.sent)
    return sums
