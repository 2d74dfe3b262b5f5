"""sparsegrad.py: libsparsegrad from Python, by ctypes, on arrays of NumPy and tensors of PyTorch that lie on the CPU.

    index, value = topk(gradient, residual, k=100)

    method = Method("topk density=0.001 | levels levels=15", sizes=[1000, 10], workers=2)
    residuals = [method.residual(), method.residual()]
    total = method.step(0, [gradient_0, gradient_1], residuals)
    print(method.sent.bits, method.total.bytes, list(compressors()))

The texts are those of sg_flat.h, which says what every function here promises. Vectors are float32, contiguous and
aligned, and nothing is copied: what another array or number is passed is refused with a TypeError or a ValueError
before the library sees it. Other errors are a RuntimeError. Where the workers are processes, each has a Method with
`first` and `count`, and functions that the caller gives exchange bytes or add numbers up (step, sparsegrad_ddp.py).
The library lies beside this file, or in the build or installation that it is a part of; else the loader looks for
it."""
import contextlib
import ctypes as c
import math
import operator
import pathlib
import sys
import threading
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Sequence, Tuple

import numpy as np

Vector = Any  # a numpy.ndarray, or a torch.Tensor on the CPU

_name = "libsparsegrad.so.0.1"
_above = [pathlib.Path(__file__).resolve().parents[i:] for i in (0, 2, 3)]  # a wheel, the tree, an installation
_near = [up[0] / lib / _name for up, lib in zip(_above, ("", "build/lib", "lib")) if up]
_lib = c.CDLL(str(([path for path in _near if path.exists()] + [_name])[0]))
_FAILED = 7  # SG_ERR_COMM
_REFUSED = 2, 6  # SG_ERR_ARGUMENT, SG_ERR_UNSUPPORTED: nothing has changed
_size, _text, _any, _real = c.c_size_t, c.c_char_p, c.c_void_p, c.c_double


class _Error(c.Structure):
    _fields_ = [("status", c.c_int), ("msg", c.c_char * 1024)]


class _Layout(c.Structure):
    _fields_ = [("n_layers", _size), ("offset", _any), ("name", _any), ("rows", _any)]


class _Sent(c.Structure):
    _fields_ = [("entries", _real), ("bits", _real), ("bytes", _real)]


class Error(RuntimeError):
    """What the library says of a call that failed, with its sg_status."""

    status = 0


def _function(name, returns, *takes):
    function = getattr(_lib, name)
    function.restype, function.argtypes = returns, takes
    return function


def _checked(name, *takes):
    """A function that returns a status and takes an sg_error last: it raises instead."""
    function = _function(name, c.c_int, *takes, c.POINTER(_Error))

    def call(*args):
        err = _Error()
        if function(*args, c.byref(err)) != 0:
            error = Error(err.msg.decode())
            error.status = err.status
            raise error

    return call


_topk = _checked("sg_topk", _any, _any, _size, _size, c.c_int, _any, _any)
_open = _checked("sg_method_open_text", c.POINTER(_any), _text, c.POINTER(_Layout), _size, _size, _size)
_decode = _checked("sg_decode", _any, _size, _text, _size)
_close = _function("sg_method_close", None, _any)
_residuals = _function("sg_method_has_residuals", c.c_bool, _any)
_is_local = _function("sg_method_is_local", c.c_bool, _any)
_is_by_layer = _function("sg_method_is_by_layer", c.c_bool, _any)
_may_share = _function("sg_method_may_share", c.c_bool, _any)
_part_bytes = [_function("sg_method_common_bytes", _size, _any),
               _function("sg_method_worker_bytes", _size, _any, _size)]
_part_save = [_function("sg_method_common_save", None, _any, _any),
              _function("sg_method_worker_save", None, _any, _size, _any)]
_part_load = [_function("sg_method_common_load", None, _any, _any),
              _function("sg_method_worker_load", None, _any, _size, _any)]
_sent = _function("sg_method_sent", None, _any, c.POINTER(_Sent))
_row = _function("sg_text_row", _text, _text, _size, c.POINTER(_text))
_parameter = _function("sg_text_parameter", _text, _text, _size, _size, c.POINTER(_real), c.POINTER(_text))
_gather = c.CFUNCTYPE(c.c_int, _any, c.POINTER(_any), c.POINTER(_size), c.POINTER(_any), c.POINTER(_any),
                      c.POINTER(_Error))
_reduce = c.CFUNCTYPE(c.c_int, _any, _any, _size, _text, c.POINTER(_Error))
_spread = c.CFUNCTYPE(c.c_int, _any, _any, c.POINTER(_Error))


class _Exchange(c.Structure):
    _fields_ = [("size", _size), ("gather", _gather), ("reduce", _reduce), ("spread", _spread), ("mine", _size),
                ("of", _any)]


_step = _checked("sg_method_step_with", _any, _size, c.c_uint64, _real, _any, _any, _any, c.POINTER(_Exchange))
version: str = _function("sg_library_version", _text)().decode()


# ---- what a text may name


class Parameter(NamedTuple):
    """A number of a compressor, code, rule or controller. preset None: the text gives it, or another in its place."""

    preset: Optional[float]
    least: float
    most: float
    help: str


class Row(NamedTuple):
    summary: str
    parameters: Dict[str, Parameter]


def _rows(table: bytes) -> Dict[str, Row]:
    rows, summary, number, words = {}, _text(), (_real * 3)(), _text()
    while (name := _row(table, len(rows), c.byref(summary))) is not None:
        row = rows[name.decode()] = Row(summary.value.decode(), {})
        while (parameter := _parameter(table, len(rows) - 1, len(row.parameters), number, c.byref(words))) is not None:
            preset = None if math.isnan(number[2]) else number[2]
            row.parameters[parameter.decode()] = Parameter(preset, number[0], number[1], words.value.decode())
    return rows


def compressors() -> Dict[str, Row]:
    """The compressors by name; codes, error feedback and controllers have lists of their own."""
    return _rows(b"compressor")


def codes() -> Dict[str, Row]:
    return _rows(b"code")


def error_feedback() -> Dict[str, Row]:
    return _rows(b"error-feedback")


def controllers() -> Dict[str, Row]:
    return _rows(b"controller")


# ---- arguments, before a pointer is taken


def _whole(x: Any, what: str, least: int = 0, most: int = 2**63 - 1) -> int:
    try:
        x = operator.index(x)
    except TypeError:
        raise TypeError(f"{what} is {x!r}, not a whole number") from None
    if not least <= x <= most:
        raise ValueError(f"{what} is {x}, not {least} to {most}")
    return x


def _vector(x: Vector, n: Optional[int], what: str, write: bool = False) -> np.ndarray:
    """The same memory as an array of n numbers, or a sentence that says what is wrong with it."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor):
        if x.device.type != "cpu" or x.layout != torch.strided:
            raise TypeError(f"{what} is a {x.layout} tensor on {x.device}: a dense one on the CPU is needed")
        if x.dtype != torch.float32:
            raise TypeError(f"{what} is of {x.dtype}: pass float32, for nothing is converted here")
        x = x.detach().numpy()
    if not isinstance(x, np.ndarray) or isinstance(x, np.ma.MaskedArray):
        raise TypeError(f"{what} is a {type(x).__name__}, neither an array of NumPy nor a tensor of PyTorch")
    if x.dtype != np.float32:
        raise TypeError(f"{what} is of {x.dtype.newbyteorder('=') if x.dtype.isnative else x.dtype.str}: pass float32, "
                        "for nothing is converted here")
    if not (x.flags.c_contiguous and x.flags.aligned):
        raise TypeError(f"{what} is not contiguous and aligned, and nothing is copied here")
    if write and not x.flags.writeable:
        raise ValueError(f"{what} is read-only, and would be written")
    if n is not None and x.size != n:
        raise ValueError(f"{what} has {x.size} numbers, not {n}")
    return x


def _apart(read: Sequence[np.ndarray], written: Sequence[np.ndarray]) -> None:
    """Refuses vectors that overlap, where one of them is written."""
    ends = sorted((x.ctypes.data, x.ctypes.data + x.nbytes, i < len(written)) for i, x in enumerate([*written, *read])
                  if x.nbytes > 0)
    end, end_written = 0, 0  # of those before: of all, and of those that are written
    for begin, stop, writes in ends:
        if begin < (end if writes else end_written):
            raise ValueError("a residual overlaps another vector: each worker has one of its own")
        end = max(end, stop)
        end_written = max(end_written, stop if writes else 0)


def topk(gradient: Vector, residual: Optional[Vector], k: int, threads: int = 1) -> Tuple[np.ndarray, np.ndarray]:
    """The k largest of residual + gradient: index [k], value [k]. The residual, or None, keeps the rest."""
    g = _vector(gradient, None, "the gradient")
    e = None if residual is None else _vector(residual, g.size, "the residual", True)
    k, threads = _whole(k, "k", 0, g.size), _whole(threads, "threads", 1, 1024)
    _apart([g], [] if e is None else [e])
    index, value = np.empty(k, np.uint32), np.empty(k, np.float32)
    at = None if e is None else e.ctypes.data
    _topk(g.ctypes.data, at, g.size, k, threads, index.ctypes.data, value.ctypes.data)
    return index, value


def decode(total: Vector, message: bytes) -> None:
    """total [n] += a message's bytes, without what stands before it in a step (lib/FORMATS.md)."""
    if not isinstance(message, bytes):
        raise TypeError(f"a message is bytes, not {type(message).__name__}")
    total = _vector(total, None, "the sum", True)
    _decode(total.ctypes.data, total.size, message, len(message))


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
        self.pointer, self.used, self.failure = _any(), threading.Lock(), None

    def __del__(self) -> None:
        _close(self.pointer)

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
        sizes = [_whole(n, "the size of a layer") for n in sizes]
        rows = [1] * len(sizes) if rows is None else [_whole(n, "a number of rows") for n in rows]
        if len(rows) != len(sizes):
            raise ValueError(f"rows of {len(rows)} layers, sizes of {len(sizes)}")
        self.n, self.text = _whole(sum(sizes), "the sum of all sizes"), text
        self.workers, self.first = _whole(workers, "workers", 1, 1 << 20), _whole(first, "first")
        self.count = self.workers if count is None else _whole(count, "count")
        self.sent = self.total = Sent()
        offset = np.concatenate(([0], np.cumsum(sizes, dtype=np.uintp))).astype(np.uintp)
        rows = np.array(rows, np.uintp)
        layout = _Layout(len(sizes), offset.ctypes.data, None, rows.ctypes.data)
        handle = _Handle()
        _open(c.byref(handle.pointer), text.encode(), c.byref(layout), self.workers, self.first, self.count)
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
        return np.zeros(self.n, np.float32) if _residuals(self.handle.pointer) else None

    def _parts(self, pointer: Any) -> List[tuple]:
        """Of each part of its state the length, the functions that save and load it, and their arguments."""
        of = [()] + [(w,) for w in range(self.first, self.first + self.count)]
        return [(_part_bytes[len(w)](pointer, *w), _part_save[len(w)], _part_load[len(w)], (pointer, *w)) for w in of]

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
        return _is_local(self.handle.pointer)

    def is_by_layer(self) -> bool:
        """True: layers may have methods of their own, each with its own seed."""
        return _is_by_layer(self.handle.pointer)

    def may_share(self) -> bool:
        """True: `steps` takes several methods, for parts whose messages go to one process each."""
        return _may_share(self.handle.pointer)

    def step(self, step: int, gradients: Sequence[Vector], residuals: Sequence[Optional[Vector]],
             gather: Callable[[List[bytes]], Sequence[bytes]] = lambda own: own, rate: float = 1.0,
             reduce: Optional[Callable[[np.ndarray, str], None]] = None) -> np.ndarray:
        """One step of the own workers: the sum over all workers of what was sent. Gradients are arrays [n]; residuals,
        from residual(), are updated in place. gather(bytes of the own workers) returns those of all workers, in their
        order, to every process. Where networks can add messages up, reduce(numbers, code) is called instead, if it is
        given, and replaces the numbers by their sums over all processes. A gradient that is NaN or Inf is refused
        before anything changes; after other failures the method is of no more use."""
        for w, g in enumerate(gradients):
            if not is_finite(_vector(g, self.n, f"the gradient of worker {self.first + w}")):
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
          spread: Optional[Callable[[List[np.ndarray]], None]] = None, mine: int = 0) -> List[np.ndarray]:
    """One step of methods that have a part of the vector each: their sums. Gradients and residuals are those of the own
    workers for the first part, then for the second, and so on. With several parts gather(bytes, in the same order)
    returns those of part `mine` of all workers, and spread(sums) completes the sums, of which `mine` is complete."""
    lengths = [m.n for m in methods for _ in range(m.count)]
    for xs, what in (gradients, "gradients"), (residuals, "residuals"):
        if len(xs) != len(lengths):
            raise ValueError(f"{len(xs)} {what}, where the workers of this process have {len(lengths)}")
    step, rate, mine = _whole(step, "step"), float(rate), _whole(mine, "mine", 0, max(len(methods) - 1, 0))
    if not (rate > 0 and math.isfinite(rate)):
        raise ValueError(f"the rate {rate} is not above 0")
    g = [_vector(x, n, "a gradient") for x, n in zip(gradients, lengths)]
    e = [None if x is None else _vector(x, n, "a residual", True) for x, n in zip(residuals, lengths)]
    _apart(g, [x for x in e if x is not None])
    workers, count = methods[0].workers, len(g)
    sums, kept, failed = [np.zeros(m.n, np.float32) for m in methods], [], []

    def guarded(call):
        def guard(_, *args):  # no exception passes through C
            try:
                call(*args)
                return 0
            except BaseException as e:
                failed.append(e)
                args[-1][0].status = _FAILED
                return _FAILED

        return guard

    def gathered(own, own_size, every, every_size, err):
        messages = gather([c.string_at(own[i], own_size[i]) for i in range(count)])
        if len(messages) != workers or not all(isinstance(m, bytes) for m in messages):
            raise ValueError(f"gather must return {workers} messages of type bytes, one of each worker")
        kept[:] = (c.c_char_p * workers)(*messages), (_size * workers)(*map(len, messages))
        every[0], every_size[0] = (c.addressof(part) for part in kept)

    def reduced(numbers, n, code, err):
        reduce(np.ctypeslib.as_array(c.cast(numbers, c.POINTER(c.c_float)), (n,)), code.decode())

    by = _Exchange(c.sizeof(_Exchange), _gather(guarded(gathered)), _reduce(guarded(reduced)) if reduce else _reduce(),
                   _spread(guarded(lambda _, err: spread(sums))), mine, None)
    handles = [m.handle for m in methods]
    with contextlib.ExitStack() as held:
        part = (_any * len(methods))(*(held.enter_context(h.use()) for h in handles))
        vectors = [(_any * count)(*(None if x is None else x.ctypes.data for x in xs)) for xs in (g, e)]
        totals = (_any * len(methods))(*(x.ctypes.data for x in sums))
        try:
            _step(part, len(methods), step, rate, *vectors, totals, c.byref(by))
        except Error as error:
            for h in handles if error.status not in _REFUSED else ():
                h.failure = str((failed or [error])[0])
            raise (failed or [error])[0] from None
        for m, h in zip(methods, handles):
            out = _Sent()
            _sent(h.pointer, c.byref(out))
            m.sent = Sent(out.bytes, out.bits, out.entries)
            m.total = m.total.plus(m.sent)
    return sums
