"""sparsegrad.py: libsparsegrad from Python, by ctypes, on NumPy's arrays of float32.

    index, value = topk(gradient, residual, k=100)

    method = Method("topk density=0.001 | levels levels=15", sizes=[1000, 10], workers=2)
    residuals = [method.residual(), method.residual()]
    total = method.step(0, [gradient_0, gradient_1], residuals)

The texts are those of sg_flat.h, which says what every function here promises. An error is a RuntimeError. Where the
workers are processes, each has a Method with `first` and `count`, and `gather` exchanges bytes (sparsegrad_ddp.py).
The library is taken from this file's folder, or the build or installation that it is a part of; else the loader looks."""
import ctypes as c
import pathlib

import numpy as np

_name = "libsparsegrad.so.0.1"
_above = [pathlib.Path(__file__).resolve().parents[i:] for i in (0, 2, 3)]  # a wheel, the tree, an installation
_near = [up[0] / lib / _name for up, lib in zip(_above, ("", "build/lib", "lib")) if up and (up[0] / lib / _name).exists()]
_lib = c.CDLL(str((_near + [_name])[0]))
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
_close = _function("sg_method_close", None, _any)
_residuals = _function("sg_method_has_residuals", c.c_bool, _any)
_gather = c.CFUNCTYPE(c.c_int, _any, c.POINTER(_any), c.POINTER(_size), c.POINTER(_any), c.POINTER(_any), c.POINTER(_Error))
_step = _checked("sg_method_step", _any, c.c_uint64, _real, _any, _any, _any, _gather, _any)
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

    def step(self, step, gradients, residuals, gather=lambda own: own, rate=1.0):
        """One step of the own workers: the sum over all workers of what was sent. Gradients are arrays [n]; residuals, from
        residual(), are updated in place. gather(bytes of the own workers) returns those of all workers, in their order,
        to every process."""
        total, kept, failed = np.zeros(self.n, np.float32), [], []

        def exchange(_, own, own_size, every, every_size, err):
            try:
                messages = gather([c.string_at(own[i], own_size[i]) for i in range(self.count)])
                if len(messages) != self.workers:
                    raise ValueError(f"gather returned {len(messages)} messages of {self.workers} workers")
                kept[:] = (c.c_char_p * self.workers)(*messages), (_size * self.workers)(*map(len, messages))
                every[0], every_size[0] = (c.addressof(part) for part in kept)
                return 0
            except BaseException as e:  # no exception passes through C
                failed.append(e)
                err[0].status = _FAILED
                return _FAILED

        vectors = [(_any * self.count)(*(_floats(x[i], self.n) for i in range(self.count))) for x in (gradients, residuals)]
        try:
            _step(self.handle, step, rate, *vectors, total.ctypes.data, _gather(exchange), None)
        except RuntimeError as e:
            raise (failed or [e])[0] from None
        return total
