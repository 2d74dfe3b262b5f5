"""plugin_server.py: runs the compressor of a file of Python for plugin_python.c, which says how the two talk.
The file defines one of these functions, which are called for each layer that has elements:
    compress(p, ...)   returns positions, values and bits; positions None means all, and bits may be left out
    select(p, ...)     returns the positions whose elements are sent unchanged
It may ask by name for its parameters, g (select only), step, worker, seed, layer, rows and state: 8 numbers that the
worker keeps for this layer, which a checkpoint has. The file may define
    parameters = {"k": (1, 4e9, 10, "elements sent of a layer")}     least, greatest, preset (or None), help
    name, traits       by default the file's own name, and "feedback"; traits are words: feedback, dense, random."""
# SPDX-License-Identifier: MIT
import importlib.util
import inspect
import os
import signal
import socket
import struct
import sys


def says(status, text):
    data = text.encode()
    line.sendall(struct.pack("=QQ", status, len(data)) + data)


def take(dtype, count):
    return np.frombuffer(incoming.read(count * np.dtype(dtype).itemsize), dtype).copy()


def declaration():
    kind = "select" if hasattr(module, "select") else "compress"
    summary = " ".join((module.__doc__ or "a compressor in Python").split())
    rows = [kind, getattr(module, "name", os.path.basename(path)[:-3].replace("_", "-")), summary,
            getattr(module, "traits", "feedback")]
    for name, (least, most, preset, *words) in parameters.items():
        whole = isinstance(least, int) and (preset is None or isinstance(preset, int))
        rows.append("\t".join([name.replace("_", "-"), repr(float(least)), repr(float(most)),
                               "nan" if preset is None else repr(float(preset)), str(int(whole)), *(words or [name])]))
    return "\n".join(rows)


def message(wanted, selects):
    layers, n_params, d, seed, step, worker, has_gradient = struct.unpack("=7Q", incoming.read(56))
    offset, rows = take("u8", layers + 1), take("u8", layers)
    param, knob, state = take("f8", n_params), take("f8", layers if n_params else 0), take("f8", 8 * layers)
    p, g = take("f4", d), take("f4", d if has_gradient else 0)
    counts, positions, values, bits = [], [], [], 0.0
    for l in range(layers):
        part = slice(int(offset[l]), int(offset[l + 1]))
        given = dict(zip(parameters, param.tolist()), g=g[part], step=step, worker=worker, seed=seed, layer=l,
                     rows=int(rows[l]), state=state[8 * l : 8 * l + 8])
        given.update({name: knob[l] for name in list(parameters)[:1]})
        given.update({name: int(given[name]) for name, row in parameters.items() if isinstance(row[0], int)
                      and given[name] == given[name]})
        n = part.stop - part.start
        out = function(p[part].copy(), **{name: given[name] for name in wanted}) if n else ([], [], 0.0)
        index, value, *cost = (out, None) if selects and n else out
        index = np.arange(n) if index is None else np.asarray(index, dtype=np.int64).ravel()
        if index.size and not (0 <= index.min() and index.max() < n and np.unique(index).size == index.size):
            raise ValueError(f"layer {l}: the positions are not distinct ones of 0 to {n - 1}")
        order = np.argsort(index, kind="stable")
        positions.append((index[order] + part.start).astype("u4"))
        if not selects:
            value = np.broadcast_to(np.asarray(value, dtype="f4"), index.shape)
            values.append(value[order])
        counts.append(index.size)
        bits += float(cost[0]) if cost else 64.0 * index.size
    return b"".join([struct.pack("=QQ", 0, 0), np.array(counts, "u8").tobytes(), struct.pack("=d", bits),
                     state.tobytes(), *(x.tobytes() for x in positions), *(x.tobytes() for x in values)])


signal.signal(signal.SIGINT, signal.SIG_IGN)  # the program decides when it ends
line, path = socket.socket(fileno=0), sys.argv[1]
try:
    import numpy as np
    sys.path.insert(0, os.path.dirname(path))
    spec = importlib.util.spec_from_file_location("plugin", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    parameters = getattr(module, "parameters", {})
    function = getattr(module, "select", None) or module.compress
    wanted = list(inspect.signature(function).parameters)[1:]
    known = {*parameters, "step", "worker", "seed", "layer", "rows", "state", *["g"][: hasattr(module, "select")]}
    unknown = set(wanted) - known
    if unknown:
        raise TypeError(f"its function asks for {', '.join(sorted(unknown))}, which is no parameter")
    says(0, declaration())
except Exception as error:
    says(1, f"{type(error).__name__}: {error}")
    sys.exit(1)
incoming = line.makefile("rb")
while incoming.peek(1):
    try:
        answer = message(wanted, hasattr(module, "select"))
    except Exception:
        import traceback
        traceback.print_exc()
        says(1, "failed")
        sys.exit(1)
    line.sendall(answer)
