"""sparsegrad.py: libsparsegrad from Python, by ctypes, on NumPy's arrays of float32.

    index, value = topk(gradient, residual, k=100)

    method = Method("topk density=0.001 | levels levels=15", sizes=[1000, 10], workers=2)
    residuals = [method.residual(), method.residual()]
    total = method.step(0, [gradient_0, gradient_1], residuals)

The texts are those of sg_flat.h, which says what every function here promises. An error is a RuntimeError. Where the
workers are processes, each has a Method with `first` and `count`, and functions that the caller gives exchange bytes or
add numbers up (step, sparsegrad_ddp.py).
The library lies beside this file, or in the build or installation that it is a part of; else the loader looks for it."""
import ctypes as c
import pathlib

import numpy as np

_name = "libsparsegrad.so.0.1"
_above = [pathlib.Path(__file__).resolve().parents[i:] for i in (0, 2, 3)]  # a wheel, the tree, an installation
_near = [up[0] / lib / _name for up, lib in zip(_above, ("", "build/lib", "lib")) if up]
_lib = c.CDLL(str(([path for path in _near if path.exists()] + [_name])[0]))
_FAILED = 7  # SG_ERR_COMM
_size, _text, _any, _real = c.c_size_t, c.c_char_p, c.c_void_p, c.c_double


class _Error(c.Structure):
    _fields_ = [("status", c.c_int), ("msg", c.c_char * 1024)]


class _Layout(c.Structure):
    _fields_ = [("n_layers", _size), ("offset", _any), ("name", _any), ("rows", _any)]


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
            raise RuntimeError(err.msg.decode())

    return call


_topk = _checked("sg_topk", _any, _any, _size, _size, c.c_int, _any, _any)
_open = _checked("sg_method_open_text", c.POINTER(_any), _text, c.POINTER(_Layout), _size, _size, _size)
_decode = _checked("sg_decode", _any, _size, _text, _size)
_close = _function("sg_method_close", None, _any)
_residuals = _function("sg_method_has_residuals", c.c_bool, _any)
_is_by_layer = _function("sg_method_is_by_layer", c.c_bool, _any)
_may_share = _function("sg_method_may_share", c.c_bool, _any)
_gather = c.CFUNCTYPE(c.c_int, _any, c.POINTER(_any), c.POINTER(_size), c.POINTER(_any), c.POINTER(_any),
                      c.POINTER(_Error))
_reduce = c.CFUNCTYPE(c.c_int, _any, _any, _size, _text, c.POINTER(_Error))
_spread = c.CFUNCTYPE(c.c_int, _any, _any, c.POINTER(_Error))


class _Exchange(c.Structure):
    _fields_ = [("size", _size), ("gather", _gather), ("reduce", _reduce), ("spread", _spread), ("mine", _size),
                ("of", _any)]


_step = _checked("sg_method_step_with", _any, _size, c.c_uint64, _real, _any, _any, _any, c.POINTER(_Exchange))
version = _function("sg_library_version", _text)().decode()


def _floats(x, n):
    """The address of an array of n float32; None stays None."""
    if x is not None and not (x.dtype == np.float32 and x.flags.c_contiguous and x.size == n):
        raise TypeError(f"not {n} contiguous numbers of float32")
    return None if x is None else x.ctypes.data


def topk(gradient, residual, k, threads=1):
    """The k largest of residual + gradient: index [k], value [k]. The residual, or None, keeps the rest."""
    n = gradient.size
    index, value = np.empty(min(k, n), np.uint32), np.empty(min(k, n), np.float32)
    _topk(_floats(gradient, n), _floats(residual, n), n, k, threads, index.ctypes.data, value.ctypes.data)
    return index, value


def decode(total, message):
    """total [n] += a message's bytes, without what stands before it in a step (lib/FORMATS.md)."""
    _decode(_floats(total, total.size), total.size, message, len(message))


class Method:
    """Compression with error feedback for workers first .. first + count - 1 of `workers`. sizes has the length of each
    layer, rows how many rows it has as a matrix; 1 = a vector, which all are by default."""

    handle = None

    def __init__(self, text, sizes, workers=1, first=0, count=None, rows=None):
        self.offset = np.concatenate(([0], np.cumsum(sizes))).astype(np.uintp)
        self.rows = np.array([1] * len(sizes) if rows is None else rows, np.uintp)
        self.n, self.first, self.workers = int(self.offset[-1]), first, workers
        self.count = workers if count is None else count
        self.handle = _any()
        layout = _Layout(len(sizes), self.offset.ctypes.data, None, self.rows.ctypes.data)
        _open(c.byref(self.handle), text.encode(), c.byref(layout), workers, first, self.count)

    def __del__(self):
        _close(self.handle)

    def residual(self):
        """A residual as it is before the first step; None where error feedback keeps none."""
        return np.zeros(self.n, np.float32) if _residuals(self.handle) else None

    def is_by_layer(self):
        """True: layers may have methods of their own, each with its own seed."""
        return _is_by_layer(self.handle)

    def may_share(self):
        """True: `step` takes several methods, for parts whose messages go to one process each."""
        return _may_share(self.handle)

    def step(self, step, gradients, residuals, gather=lambda own: own, rate=1.0, reduce=None):
        """One step of the own workers: the sum over all workers of what was sent. Gradients are arrays [n]; residuals,
        from residual(), are updated in place. gather(bytes of the own workers) returns those of all workers, in their
        order, to every process. Where networks can add messages up, reduce(numbers, code) is called instead, if it is
        given, and replaces the numbers by their sums over all processes."""
        return steps([self], step, gradients, residuals, gather, rate, reduce)[0]


def steps(methods, step, gradients, residuals, gather, rate=1.0, reduce=None, spread=None, mine=0):
    """One step of methods that have a part of the vector each: their sums. Gradients and residuals are those of the own
    workers for the first part, then for the second, and so on. With several parts gather(bytes, in the same order)
    returns those of part `mine` of all workers, and spread(sums) completes the sums, of which `mine` is complete."""
    workers, count = methods[0].workers, len(gradients)
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
        if len(messages) != workers:
            raise ValueError(f"gather returned {len(messages)} messages of {workers} workers")
        kept[:] = (c.c_char_p * workers)(*messages), (_size * workers)(*map(len, messages))
        every[0], every_size[0] = (c.addressof(part) for part in kept)

    def reduced(numbers, n, code, err):
        reduce(np.ctypeslib.as_array(c.cast(numbers, c.POINTER(c.c_float)), (n,)), code.decode())

    by = _Exchange(c.sizeof(_Exchange), _gather(guarded(gathered)), _reduce(guarded(reduced)) if reduce else _reduce(),
                   _spread(guarded(lambda _, err: spread(sums))), mine, None)
    lengths = [m.n for m in methods for _ in range(m.count)]
    vectors = [(_any * count)(*(_floats(x, n) for x, n in zip(xs, lengths))) for xs in (gradients, residuals)]
    parts, totals = ((_any * len(methods))(*of) for of in ((m.handle for m in methods), (x.ctypes.data for x in sums)))
    try:
        _step(parts, len(methods), step, rate, *vectors, totals, c.byref(by))
    except RuntimeError as e:
        raise (failed or [e])[0] from None
    return sums
