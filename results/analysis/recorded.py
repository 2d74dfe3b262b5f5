"""Reads recorded gradients: an .npy file of shape [steps][workers][...], or what sparsetrain --record-gradients wrote.

Python's standard library is enough."""
# SPDX-License-Identifier: MIT

import array
import ast
import json
import math
import struct

from basics import refuse


class Recording:
    """What the head of a file says: steps, workers, d entries of a gradient, and the sizes and names of its layers."""

    def __init__(self, path):
        self.path = path
        try:
            with open(path, "rb") as file:
                self.read_npy(file) if file.read(6) == b"\x93NUMPY" else self.read_recording(file)
        except OSError as problem:
            refuse(f"{path}: {problem}")

    def read_npy(self, file):
        file.seek(8)
        size = struct.unpack("<H", file.read(2))[0]
        head = ast.literal_eval(file.read(size).decode("latin-1"))
        shape, kind = head["shape"], head["descr"]
        if kind not in ("<f4", "<f8") or head["fortran_order"] or len(shape) < 2:
            refuse(f"{self.path}: an array [steps][workers][...] of little-endian floats in C order is wanted")
        shape = shape if len(shape) > 2 else (shape[0], 1, shape[1])
        self.steps, self.workers, self.d = shape[0], shape[1], math.prod(shape[2:])
        self.kind, self.before_step, self.before_row = "f" if kind == "<f4" else "d", 0, 0
        self.start, self.method, self.identity, self.constants = file.tell(), "", None, {}
        self.layers, self.names = [self.d], [""]

    def read_recording(self, file):
        file.seek(0)
        line = file.readline(1 << 24)
        if not line.startswith(b'{"schema":"sparsetrain-gradients/'):
            refuse(f"{self.path}: neither an .npy file nor a recording of gradients (sparsetrain --record-gradients)")
        head = json.loads(line)
        self.steps, self.workers, self.layers = head["steps"], head["workers"], head["layers"]
        self.d, self.constants = sum(self.layers), head["constants"]
        self.method, self.identity = head["method"], head["identity"]
        self.names = head.get("names") or [str(i) for i in range(len(self.layers))]
        # The learning rate stands before a step, and the number of entries that were sent before a gradient.
        self.start, self.kind, self.before_step, self.before_row = file.tell(), "f", 8, 8

    def rows(self):
        """The number of entries that were sent, or None, and the gradient of each worker at each step."""
        with open(self.path, "rb") as file:
            file.seek(self.start)
            for _ in range(self.steps):
                file.read(self.before_step)
                for _ in range(self.workers):
                    sent = struct.unpack("<Q", file.read(8))[0] if self.before_row else None
                    row = array.array(self.kind)
                    row.fromfile(file, self.d)
                    yield sent, row
