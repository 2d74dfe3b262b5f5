"""binding.py: libsparsegrad by ctypes: its functions and structs, what its texts may name, and the checks of arguments.

The library lies beside this file, or in the build or installation that it is a part of; else the loader looks for
it."""
# SPDX-License-Identifier: MIT
import ctypes as c
import hashlib
import math
import operator
import os
import pathlib
import sys
from typing import Any, Dict, NamedTuple, Optional, Sequence, Union

import numpy as np

Vector = Any  # a numpy.ndarray, or a torch.Tensor on the CPU

_name = "libsparsegrad.so.0.1"
_above = [pathlib.Path(__file__).resolve().parents[i:] for i in (0, 3, 4)]  # a wheel, the tree, an installation
_near = [up[0] / lib / _name for up, lib in zip(_above, ("", "build/lib", "lib")) if up]
library = c.CDLL(str(([path for path in _near if path.exists()] + [_name])[0]))
FAILED = 7  # SG_ERR_COMM
REFUSED = 2, 6  # SG_ERR_ARGUMENT, SG_ERR_UNSUPPORTED: nothing has changed
size_t, text_t, pointer_t, real_t, to = c.c_size_t, c.c_char_p, c.c_void_p, c.c_double, c.POINTER


class sg_error(c.Structure):
    _fields_ = [("status", c.c_int), ("msg", c.c_char * 1024)]


class sg_layout(c.Structure):
    _fields_ = [("n_layers", size_t), ("offset", pointer_t), ("name", pointer_t), ("rows", pointer_t)]


class sg_sent(c.Structure):
    _fields_ = [("entries", real_t), ("bits", real_t), ("bytes", real_t)]


class Error(RuntimeError):
    """What the library says of a call that failed, with its sg_status."""

    status = 0


def _function(name, returns, *takes):
    function = getattr(library, name)
    function.restype, function.argtypes = returns, takes
    return function


def _checked(name, *takes):
    """A function that returns a status and takes an sg_error last: it raises instead."""
    function = _function(name, c.c_int, *takes, to(sg_error))

    def call(*args):
        err = sg_error()
        if function(*args, c.byref(err)) != 0:
            error = Error(err.msg.decode())
            error.status = err.status
            raise error

    return call


sg_topk = _checked("sg_topk", pointer_t, pointer_t, size_t, size_t, c.c_int, pointer_t, pointer_t)
sg_method_open_text = _checked("sg_method_open_text", to(pointer_t), text_t, to(sg_layout), size_t, size_t,
                               size_t)
sg_decode = _checked("sg_decode", pointer_t, size_t, text_t, size_t)
sg_method_close = _function("sg_method_close", None, pointer_t)
sg_method_has_residuals = _function("sg_method_has_residuals", c.c_bool, pointer_t)
sg_method_is_local = _function("sg_method_is_local", c.c_bool, pointer_t)
sg_method_is_by_layer = _function("sg_method_is_by_layer", c.c_bool, pointer_t)
sg_method_reads_sum = _function("sg_method_reads_sum", c.c_bool, pointer_t)
sg_method_may_share = _function("sg_method_may_share", c.c_bool, pointer_t)
sg_method_reduces = _function("sg_method_reduces", size_t, pointer_t, c.c_uint, to(text_t))
# Of the state in common, and of a worker's.
part_bytes = [_function("sg_method_common_bytes", size_t, pointer_t),
              _function("sg_method_worker_bytes", size_t, pointer_t, size_t)]
part_save = [_function("sg_method_common_save", None, pointer_t, pointer_t),
             _function("sg_method_worker_save", None, pointer_t, size_t, pointer_t)]
part_load = [_function("sg_method_common_load", None, pointer_t, pointer_t),
             _function("sg_method_worker_load", None, pointer_t, size_t, pointer_t)]
sg_method_sent = _function("sg_method_sent", None, pointer_t, to(sg_sent))
sg_text_row = _function("sg_text_row", text_t, text_t, size_t, to(text_t))
sg_text_parameter = _function("sg_text_parameter", text_t, text_t, size_t, size_t, to(real_t), to(text_t))
GATHER = c.CFUNCTYPE(c.c_int, pointer_t, to(pointer_t), to(size_t), to(pointer_t), to(pointer_t), to(sg_error))
REDUCE = c.CFUNCTYPE(c.c_int, pointer_t, pointer_t, size_t, text_t, to(sg_error))
SPREAD = c.CFUNCTYPE(c.c_int, pointer_t, pointer_t, to(sg_error))


class sg_exchange(c.Structure):
    _fields_ = [("size", size_t), ("gather", GATHER), ("reduce", REDUCE), ("spread", SPREAD), ("mine", size_t),
                ("of", pointer_t)]


sg_method_step_with = _checked("sg_method_step_with", pointer_t, size_t, c.c_uint64, real_t, pointer_t, pointer_t,
                               pointer_t, to(sg_exchange))
sg_halves_write = _function("sg_halves_write", None, pointer_t, pointer_t, pointer_t, size_t, size_t, c.c_bool)
sg_halves_read = _function("sg_halves_read", None, pointer_t, pointer_t, size_t, size_t, c.c_bool)
sg_compressor_plugin_add = _checked("sg_compressor_plugin_add", pointer_t)
version: str = _function("sg_library_version", text_t)().decode()


# ---- rows of one's own

_plugins: Dict[str, str] = {}


def plugins() -> Dict[str, str]:
    """The files that load_plugin loaded, with their SHA-256."""
    return dict(_plugins)


def load_plugin(path: Union[str, "os.PathLike[str]"]) -> None:
    """Loads a shared object as sg_compressor_plugin.h describes it. From then on texts may name its compressors, codes,
    rules and controllers. Every process of a training loads the same files; loading one again changes nothing."""
    file = pathlib.Path(path).resolve()
    if str(file) in _plugins:
        return
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    c.CDLL(library._name, mode=c.RTLD_GLOBAL)  # the object calls functions of the library, and is not linked with it
    try:
        rows = c.c_char.in_dll(c.CDLL(str(file)), "sparsegrad_plugin")
    except (OSError, ValueError) as problem:
        raise Error(f"{file} is no plug-in: {problem}") from None
    try:
        sg_compressor_plugin_add(c.addressof(rows))
    except Error as error:
        error.args = (f"{file}: {error}",)
        raise
    _plugins[str(file)] = digest


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
    rows, summary, number, words = {}, text_t(), (real_t * 3)(), text_t()
    while (name := sg_text_row(table, len(rows), c.byref(summary))) is not None:
        row = rows[name.decode()] = Row(summary.value.decode(), {})
        about = number, c.byref(words)
        while (parameter := sg_text_parameter(table, len(rows) - 1, len(row.parameters), *about)) is not None:
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


def whole(x: Any, what: str, least: int = 0, most: int = 2**63 - 1) -> int:
    try:
        x = operator.index(x)
    except TypeError:
        raise TypeError(f"{what} is {x!r}, not a whole number") from None
    if not least <= x <= most:
        raise ValueError(f"{what} is {x}, not {least} to {most}")
    return x


def vector(x: Vector, n: Optional[int], what: str, write: bool = False) -> np.ndarray:
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


def apart(read: Sequence[np.ndarray], written: Sequence[np.ndarray]) -> None:
    """Refuses vectors that overlap, where one of them is written."""
    ends = sorted((x.ctypes.data, x.ctypes.data + x.nbytes, i < len(written)) for i, x in enumerate([*written, *read])
                  if x.nbytes > 0)
    end, end_written = 0, 0  # of those before: of all, and of those that are written
    for begin, stop, writes in ends:
        if begin < (end if writes else end_written):
            raise ValueError("a residual overlaps another vector: each worker has one of its own")
        end = max(end, stop)
        end_written = max(end_written, stop if writes else 0)
