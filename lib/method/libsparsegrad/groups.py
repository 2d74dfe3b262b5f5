"""groups.py: layers that a process exchanges together, for ddp.py."""
# SPDX-License-Identifier: MIT
import re

import numpy as np
import torch

from .binding import Error
from .method import Method, Sent


class Unused(Exception):
    """No process used a parameter of this group."""


class Group:
    """Layers that are exchanged together: their places in the vector, and a method for each slice."""

    def __init__(self, state, number, names, sizes, rows, begin):
        n, ways = sum(sizes), state.workers if state.slices else 1
        ways = ways if n >= 1024 * ways else 1
        cuts = [begin + n * i // ways for i in range(ways + 1)]
        at = begin + np.concatenate(([0], np.cumsum(sizes, dtype=np.int64)))
        self.names, self.missing, self.waiting, self.problem, self.left = names, set(names), [], None, False
        self.came = []  # gradients of this step: their bucket, their place and they
        self.places = dict(zip(names, map(slice, at, at[1:])))
        self.used, self.number, self.rate, self.rate_before = set(names), number, 1.0, 1.0
        self.whole = slice(begin, begin + n)
        self.slices, self.methods, self.again, self.sent = list(map(slice, cuts, cuts[1:])), [], None, Sent()
        for i, part in enumerate(self.slices):
            inside = [(min(b, part.stop) - max(a, part.start), r) for a, b, r in zip(at, at[1:], rows)]
            inside = [(length, r if ways == 1 else 1) for length, r in inside if length > 0 or ways == 1]
            lengths, row = zip(*inside)
            seed = state.seed + 1000003 * (number + i)  # the first one is that of the text
            self.methods.append(self.open(state, f"; seed={seed % 2**63}", lengths, row))
            if ways > 1 and i == state.rank:
                kept = "gradient" if self.methods[i].residual() is not None else "none"
                text = f"{state.unseeded.split(';')[0]}; error-feedback={kept}; seed={(seed + 500009) % 2**63}"
                self.again = Method(text, lengths)
                self.residual = self.again.residual()
        # What a step adds up, if all of that is known before it. Then what processes say travels behind the numbers.
        self.reduces = [] if ways > 1 or state.whole else self.methods[0].reduces()
        self.tail = 2 * state.workers + (len(names) if state.tracks else 0) if self.reduces else 0
        self.sum, self.rooms, self.added, self.lost = np.empty(n + self.tail, np.float32), {}, 0, None
        self.all = self.methods + ([self.again] if self.again else [])
        self.kept = [np.empty_like(r) for r in self.residuals(state)], [m.state() for m in self.all]

    def open(self, state, seed, lengths, row):
        """The group's method; without compression for a group that it refuses, though it takes the whole model."""
        about = lengths, state.workers, state.rank, 1, row
        try:
            return Method(state.unseeded + seed, *about)
        except Error:
            return Method("none" + re.sub("^[^;]*", "", state.unseeded) + seed, *about)

    def part_of_sum(self, place):
        """The sum over all processes at a place of the whole vector."""
        return self.sum[place.start - self.whole.start : place.stop - self.whole.start]

    def room(self, numbers, kind):
        """Memory for what travels in the place of `numbers`, with room for what the processes say behind it. Floats
        that lie where the group's sum does have it there."""
        length = len(numbers) + self.tail
        if kind == torch.float32 and numbers.ctypes.data == self.sum.ctypes.data and length == len(self.sum):
            return torch.from_numpy(self.sum)
        if kind not in self.rooms or len(self.rooms[kind]) < length:
            self.rooms[kind] = torch.empty(length, dtype=kind)
        return self.rooms[kind][:length]

    def note_used(self, used):
        """Of each parameter, whether a process used it."""
        self.idle = [name for name, by in zip(self.names, used) if not by]
        if len(self.idle) == len(self.names):
            raise Unused

    def loses(self, state, count):
        """Where is added what `count` numbers lose as halves: the residual, which a step that swaps has written by now,
        or else `lost`, for after the step. A choice of numbers has no place in either."""
        if state.residual is None or count != self.whole.stop - self.whole.start:
            return None
        if state.swaps:
            return state.after[self.whole]
        self.lost = np.zeros(count, np.float32)
        return self.lost

    def residuals(self, state):
        """Those before a step, and until it has ended well: of its layers, and of its slice of the means."""
        second = self.residual if self.again else None
        return [r for r in (None if state.residual is None else state.residual[self.whole], second) if r is not None]

    def keep(self, state):
        """Copies what a step changes, and brings the residuals to the unit of its loss scale. The layers' residual is
        copied only where the step writes over it."""
        residuals, self.factor = self.residuals(state), np.float32(self.rate / state.rate)
        self.copied = [not state.swaps or i > 0 or self.rate != state.rate for i in range(len(residuals))]
        for to, r, copied in zip(self.kept[0], residuals, self.copied):
            if copied:
                np.copyto(to, r)
        for to, m in zip(self.kept[1], self.all):
            m.state(to)
        if self.rate != state.rate:
            for r in residuals:
                r *= self.factor
        self.rate_before, self.rate = self.rate, state.rate

    def restore(self, state):
        self.rate = self.rate_before
        for r, kept, copied in zip(self.residuals(state), self.kept[0], self.copied):
            if copied:
                np.copyto(r, kept)
        for m, kept in zip(self.all, self.kept[1]):
            m.load(kept)
        if state.swaps:
            np.copyto(state.after[self.whole], state.residual[self.whole])

    def restore_layer(self, state, place):
        """What waits in the residuals of one layer, as it was: the model drops the layer's part of the sum."""
        if state.swaps:
            state.after[place] = state.residual[place]
        starts = [] if state.residual is None else [self.whole.start]
        starts += [] if self.again is None else [self.slices[state.rank].start]
        for i, (r, kept, start) in enumerate(zip(self.residuals(state), self.kept[0], starts)):
            if i > 0 or not state.swaps:
                part = slice(max(place.start - start, 0), max(place.stop - start, 0))
                r[part] = kept[part] * self.factor
