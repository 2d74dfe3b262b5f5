"""processes.py: what the processes of a training say to each other, for ddp.py, over gloo.

With each exchange every process says how it is, the number of the group of layers, sizes, and which parameters it used:
before it, or behind the numbers that it adds up, if every process knows their length before the step. One that failed
comes there in the place of its next exchange, so that nobody waits for it."""
# SPDX-License-Identifier: MIT
import json
import weakref

import numpy as np
import torch
import torch.distributed as dist

from .binding import sg_halves_read, sg_halves_write

LANES = 2  # threads, each with connections of its own: one group is compressed while another one travels
FINE, NOT_FINITE, FAILED = range(3)  # what a process says of itself with each exchange
HALVES = {"fp16": torch.float16, "bf16": torch.bfloat16}
KINDS = {"fp32": torch.float32, **HALVES}
SIZES = 2  # where the sizes begin in what a process says, behind its state and the group
BITS = 62  # parameters in a number, for the exchange of which ones were used
# PyTorch names a group of some of the processes by their ranks and how many groups there are. If one were destroyed, the
# next could get its name, and with it what the old one left in the store: the addresses of connections that are gone.
lasting = []
threads = weakref.WeakKeyDictionary()  # of a lane: the states that share one must not use it at the same time


class Told(Exception):
    """Every process knows that some process's gradient is not finite, or why one of them failed."""

    def __init__(self, words):
        super().__init__(words)
        self.words = words  # None: not finite


class Broken(RuntimeError):
    """The connections failed, so that no process can be told anything."""


def travel(exchange, *args, **options):
    """An exchange of PyTorch's, whose failure is one of the connections."""
    try:
        exchange(*args, **options)
    except RuntimeError as error:
        raise Broken(f"the exchange of gradients failed: {error}") from error


def open_lanes(model, group):
    """Groups of the model's processes for host memory, with the time limit of the model's own group."""
    if group is not None:
        return [group]
    of = getattr(model, "process_group", None) or dist.group.WORLD
    ranks = dist.get_process_group_ranks(of)
    options = getattr(of._get_backend(of._device_types[0]), "options", None)
    limit = getattr(options, "_timeout", None)
    some = {} if len(ranks) == dist.get_world_size() else {"ranks": ranks, "use_local_synchronization": True}
    lanes = [dist.new_group(backend="gloo", timeout=limit, **some) for _ in range(LANES)]
    lasting.extend(lanes if some else [])
    return lanes


def release(lanes, hooks):
    """What a state has of PyTorch, when it goes."""
    for handle in hooks:
        handle.remove()
    for lane in lanes:
        pool = threads.pop(lane, None)
        if pool is not None:
            pool.shutdown(wait=False)  # no work holds the state any more
        if dist.is_initialized() and lane not in lasting and lane in dist.distributed_c10d._world.pg_map:
            dist.destroy_process_group(lane)


class Processes:
    """The part of a State that exchanges. It uses lanes, workers, rank, flags, tracks and residual of it."""

    def agree(self, problem, same):
        """Raises the same error in every process, if one of them failed or differs from rank 0."""
        self.tell(problem)
        every = [json.loads(m) for m in self.gather([json.dumps(same).encode()], self.lanes[0])]
        for key in same:
            for rank, other in enumerate(every):
                if other[key] != every[0][key]:
                    a, b = (json.dumps(one[key]) for one in (other, every[0]))
                    raise RuntimeError(f"rank {rank} has another {key} than rank 0: {a:.300} and {b:.300}")

    def tell(self, problem):
        """Raises the same error in every process, if one of them failed. All processes come here."""
        try:
            self.meet(self.lanes[0], -1, code=FINE if problem is None else FAILED, words=problem)
        except Told as told:
            raise RuntimeError(told.words) from problem

    def meet(self, lane, number, sizes=(), code=FINE, words=None, used=()):
        """Every process's sizes and used parameters, or Told if one of them has something to tell. All processes come
        here before each exchange of group `number`, and one that failed comes in the place of its next one."""
        own, every, tensors = self.room(lane)
        own[:] = 0
        own[0], own[1] = code, number
        own[SIZES : SIZES + len(sizes)] = sizes
        for i in used:
            own[SIZES + self.workers + i // BITS] |= 1 << i % BITS
        travel(dist.all_gather, *tensors, group=lane)
        self.heed(lane, every[:, 0].tolist(), every[:, 1].tolist(), number, words)
        return every

    def heed(self, lane, codes, numbers, number, words):
        """Told, if a process has something to tell, or exchanges another group than the one with `number`."""
        if FAILED in codes:
            said = [None] * self.workers
            travel(dist.all_gather_object, said, None if words is None else str(words), group=lane)
            raise Told(next(f"rank {rank}: {one}" for rank, one in enumerate(said) if one is not None))
        if any(one != number for one in numbers):
            raise Told(f"the processes of these ranks exchange different groups of layers: {numbers}")
        if NOT_FINITE in codes:
            raise Told(None)

    def ride(self, group, numbers, code=FINE, words=None):
        """numbers <- their sums over all processes. The last group.tail of them are what the processes say of
        themselves, in places of their own, so that nothing is rounded: their state, the group (to 7 bits), and of each
        of its parameters how many used it."""
        tail, number = numbers[len(numbers) - group.tail :], group.number // self.workers % 128
        tail.zero_()
        tail[self.rank], tail[self.workers + self.rank] = code, number
        if self.tracks:
            tail[2 * self.workers :] = torch.tensor([name in group.used for name in group.names])
        travel(dist.all_reduce, numbers, group=group.lane)
        group.added += 1
        said = tail.tolist()
        self.heed(group.lane, said[: self.workers], said[self.workers : 2 * self.workers], number, words)
        if self.tracks:
            group.note_used(said[2 * self.workers :])

    def report(self, group, code, error):
        """In the place of the group's next exchange, tells all processes what ended its step here."""
        if not self.rides:
            self.meet(group.lane, group.number, code=code, words=error)
        elif group.added < len(group.reduces):
            count, kind = group.reduces[group.added]
            self.ride(group, torch.zeros(count + group.tail, dtype=KINDS[kind]), code, error)
        elif code == NOT_FINITE:  # of a sum, which is the same in all processes
            raise Told(None)
        else:  # there is no more exchange of this group: the others hear of it at the next one
            self.late = error
            raise Told(f"rank {self.rank}: {error}")

    def room(self, lane):
        """What this process says on a lane, what all say [workers][...], and both as the tensors of an all-gather."""
        length = SIZES + self.workers + self.flags
        if lane not in self.rooms or len(self.rooms[lane][0]) != length:
            own, every = np.zeros(length, np.int64), np.zeros((self.workers, length), np.int64)
            self.rooms[lane] = own, every, (list(torch.from_numpy(every)), torch.from_numpy(own))
        return self.rooms[lane]

    def begin(self, group, sizes):
        """The sizes of all processes, before an exchange of a group."""
        used = [i for i, name in enumerate(group.names) if name in group.used] if self.tracks else ()
        every = self.meet(group.lane, group.number, sizes, used=used)
        if self.tracks:
            words = np.bitwise_or.reduce(every[:, SIZES + self.workers :], axis=0).tolist()
            group.note_used([words[i // BITS] >> i % BITS & 1 for i in range(len(group.names))])
        return every

    def gather(self, own, lane, group=None):
        """The bytes of every process, in the order of the ranks. Each of the others gets a message of its own, which
        needs no padding and uses both directions of a link at once; gloo's all_gather does neither."""
        return self.deal(own * self.workers, lane, group)

    def deal(self, own, lane, group=None):
        """What every process has for this one. `own` has bytes for each of them."""
        given = list(map(len, own))
        sizes = self.meet(lane, -1, given) if group is None else self.begin(group, given)
        lengths = [int(n[SIZES + self.rank]) for n in sizes]
        every = torch.empty(sum(lengths), dtype=torch.uint8)
        ours = torch.frombuffer(bytearray(b"".join(own)), dtype=torch.uint8)
        travel(dist.all_to_all_single, every, ours, lengths, given, group=lane)
        return [t.numpy().tobytes() for t in every.split(lengths)]

    def reduce(self, numbers, code, lane, group):
        """Adds the numbers of all processes up, in place."""
        if not self.rides:
            self.begin(group, ())
        room, about = group.room(numbers, KINDS[code]), (len(numbers), self.workers, code == "bf16")
        if code in HALVES:
            lost = group.loses(self, len(numbers))
            sg_halves_write(room.data_ptr(), None if lost is None else lost.ctypes.data, numbers.ctypes.data, *about)
        elif room.data_ptr() != numbers.ctypes.data:
            room[: len(numbers)] = torch.from_numpy(numbers)
        if self.rides:
            self.ride(group, room)
        else:
            travel(dist.all_reduce, room, group=lane)
        if code in HALVES:
            sg_halves_read(numbers.ctypes.data, room.data_ptr(), *about)
        elif room.data_ptr() != numbers.ctypes.data:
            torch.from_numpy(numbers)[:] = room[: len(numbers)]
