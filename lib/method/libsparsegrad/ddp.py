"""ddp.py: a communication hook that compresses what PyTorch's DistributedDataParallel exchanges.

    model = torch.nn.parallel.DistributedDataParallel(net)
    state = libsparsegrad.ddp.register(model, "topk density=0.01")

Every process is one worker with a residual of its own. The gradient of all parameters that the model exchanges is one
vector, whose layers are these parameters in their order. From the last layer on, layers are put together into groups of
25 MiB of floats, the first of 1 MiB, however PyTorch cuts its own buckets. A thread compresses and exchanges a group
once all of its gradients are there, while the backward pass goes on. Every process gets the same mean, bit for bit. A
group travels in one of these ways:

    all-reduce   numbers that networks add: none, fp16, bf16, random-k with shared positions, PowerSGD's factors.
                 Halves are added as halves, after division by the number of processes, as PyTorch's own hooks do.
                 What this division rounds away stays in the residual
    two rounds   every element in another code (qsgd, 8bit, sign-l2 and so on), from three processes on: each process
                 gets one slice of everybody's messages, adds it, compresses the mean again, with a residual of its own
                 for what that loses, and sends it to all (1-bit Adam, Tang et al. 2021; CGX, Markov et al. 2022)
    all-gather   all other messages, which every process decodes and adds in the order of the ranks

A controller sets knobs by the whole model: it needs one group of all layers, whose exchange begins when the last
gradient is there. register(..., whole=True) asks for that group with any method, and for all-gather. Then messages,
sums and residuals are bit for bit those that the trainer of sparsegrad makes of the same gradients. Without it, sums
and residuals still are for methods of the third kind that draw nothing. Others differ in the order of addition, the
rounding of halves, or the random draws, for which each group has a seed of its own. In two rounds the second
compression is another algorithm than the trainer's method, and a layer that lies in two slices counts as two.

What goes wrong in one process goes wrong in all of them. If a gradient is NaN or Inf anywhere, or becomes so on its
way, the group's gradients are NaN in every process; a GradScaler then skips the step in all of them. After such a step
the residuals, what the method keeps beside them and the number of the step are as they were before it. An error in one
process is raised in all of them, with its rank, and leaves the same behind. If a model finds its unused parameters, the
residual of a layer that no process used waits for the next step.

The hook needs PyTorch from 2.1 on. The optimizer is PyTorch's; to the method the learning rate is always 1. On a GPU,
with a library that was built with CUDA and over NCCL, gradients, residuals and sums of topk, hard-threshold, none, fp16
and bf16 stay there (device.py); an error is then raised at the next step, and `step` counts when it begins. Other
methods work in host memory, which a warning says: one pinned copy of each bucket goes in either direction. Complex
numbers are pairs, and float64 becomes float32 with a warning. A group that a method refuses, though it takes the whole
model (PowerSGD, one without a matrix), is sent without compression. Error feedback whose workers have parameters of
their own (cser, local-steps, diloco, dynamic-averaging) is refused, and so is fully_shard.

A trainer that makes the DistributedDataParallel itself is met after that: with Accelerate register(accelerator.prepare(
net), text), and with Lightning register(self.trainer.strategy.model, text) in on_train_start.

A checkpoint of every process needs state.state_dict(), or the state itself, which pickle and torch.save take. What
state.load_state_dict() or register(model, state) resumes goes on with the same bits as a run that was not ended."""
# SPDX-License-Identifier: MIT
import concurrent.futures
import functools
import re
import threading
import warnings
import weakref

import numpy as np
import torch
import torch.distributed as dist

from . import device
from .binding import plugins, version
from .buckets import Bucket
from .groups import Group, Unused
from .method import Method, Sent, decode, steps
from .parameters import give, real, shapes, take
from .processes import BITS, FAILED, NOT_FINITE, Broken, Processes, Told, open_lanes, release, threads

HEAD = 16  # bytes before a message (lib/FORMATS.md)
NONFINITE = 3  # SG_ERR_NONFINITE


def _parameters(model):
    """The parameters that a DistributedDataParallel exchanges, with their names, in their order."""
    if hasattr(model, "set_all_reduce_hook"):  # FSDP2
        raise TypeError("fully_shard gives each process a shard of the sum, which this hook never sees: use "
                        "DistributedDataParallel, or a Method of your own in set_all_reduce_hook")
    if not isinstance(model, torch.nn.parallel.DistributedDataParallel):
        raise TypeError(f"register takes the DistributedDataParallel itself, which knows its parameters and processes, "
                        f"and not a {type(model).__name__}")
    if getattr(model, "mixed_precision", None) is not None:
        raise ValueError("DistributedDataParallel(mixed_precision=...) has a hook of its own: use torch.autocast")
    ignored, found = set(model.parameters_to_ignore), {}
    for prefix, module in model.module.named_modules():
        for name, p in module.named_parameters(prefix, recurse=False):
            ddp_name = f"{prefix}.{name.rpartition('.')[2]}"
            if not p.requires_grad or name in ignored or ddp_name in ignored or any(p is q for q in found.values()):
                continue
            if getattr(module, "sparse", False):
                raise ValueError(f"parameter '{name}' has sparse gradients, which this hook cannot exchange: make its "
                                 "embedding with sparse=False, or let DistributedDataParallel ignore it")
            found[name] = p
    if not any(p.numel() for p in found.values()):
        raise ValueError("the model exchanges no parameter: nothing in it is trainable")
    return found


class State(Processes):
    """The methods, this process's residual, and the gradient as its buckets come. `model` is the
    DistributedDataParallel, `text` a method of sg_flat.h, `group` one for host memory (gloo), by which all groups of
    layers then go one after another. `sent` is what this process sent in the last step, `total` in all steps.

    If the loss is scaled, set `rate` to 1 / scaler.get_scale() before each backward pass: when the scale changes, the
    residuals change to its unit. What else a rule keeps (momentum, EF21's estimate) does not."""

    def __init__(self, model, text, group=None, whole=False, group_bytes=25 << 20):
        self.options = {"whole": whole, "group_bytes": group_bytes}
        self.lanes = open_lanes(model, group)
        self.workers, self.rank = dist.get_world_size(self.lanes[0]), dist.get_rank(self.lanes[0])
        self.flags, self.rooms, self.lock, self.used, hooks = 0, {}, threading.Lock(), set(), []
        self._end = weakref.finalize(self, release, self.lanes if group is None else [], hooks)
        self._end.atexit = False
        problem, same, self.device = None, {}, None
        try:
            self.open(model, text, whole, group_bytes, hooks)
            cuts = [g.whole.start for g in self.groups]
            same = {"version": version, "method": text, "lengths": self.sizes, "rows": self.rows, "groups": cuts,
                    "search for unused parameters": self.tracks, "exchange on a device": self.device is not None,
                    "set of plug-ins": sorted(plugins().values())}
        except Exception as error:
            problem = error
        self.agree(problem, same)
        self.flags = max(len(g.names) for g in self.groups) // BITS + 1 if self.tracks else 0

    def open(self, model, text, whole, group_bytes, hooks):
        found = _parameters(model)
        names, parameters = list(found), list(found.values())
        self.name_of, self.parameters = {id(p): name for name, p in found.items()}, parameters
        self.sizes, self.rows = sizes, rows = shapes(list(found.items()))
        whole_model = Method(text, sizes, self.workers, self.rank, 1, rows)
        if whole_model.is_local():
            raise ValueError(f"'{text}' gives every worker parameters of its own, which a communication hook cannot")
        given = re.search(r";\s*seed\s*=\s*(\d+)", text)
        self.text, self.seed = text, int(given[1]) if given else 0
        self.unseeded = text.replace(given[0], "") if given else text
        self.whole = whole
        self.slices = not whole and self.workers > 2 and whole_model.may_share()
        self.gradient, self.residual = np.zeros(whole_model.n, np.float32), whole_model.residual()
        self.step, self.done, self.bad, self.late = 0, 0, False, None
        self.groups, self.held, self.rate = [], [], 1.0
        self.sent = self.total = Sent()
        self.tracks = bool(model.find_unused_parameters or model.static_graph)
        ends, last = list(map(int, np.cumsum(sizes))), len(sizes)
        for first in reversed(range(last)):
            full = 4 * sum(sizes[first:last]) >= (group_bytes if self.groups else min(group_bytes, 1 << 20))
            begins = first == 0 or full and any(sizes[:first]) and not whole and whole_model.is_by_layer()
            if begins and any(sizes[first:last]):
                number, here, last = self.workers * len(self.groups), slice(first, last), first
                begin = ends[first] - sizes[first]
                self.groups.append(Group(self, number, names[here], sizes[here], rows[here], begin))
        self.group_of = {name: g for g in self.groups for name in g.names}
        for i, g in enumerate(self.groups):
            g.lane = self.lanes[i % len(self.lanes)]
        self.rides = all(g.reduces for g in self.groups)
        self.device, why = device.choose(self, model)
        # Then the gradient is handed in as the residual: the old residual stays there for a step that must be undone.
        self.swaps = self.residual is not None and self.device is None and whole_model.reads_sum() and not plugins()
        if why:
            warnings.warn(f"the gradients go through host memory, where '{text}' works, by a copy of each bucket in "
                          f"either direction: {why}", stacklevel=5)
        if self.tracks:
            for name, p in found.items():
                note = functools.partial(lambda used, name, p: used.add(name), self.used, name)
                hooks.append(p.register_post_accumulate_grad_hook(note))

    def state_dict(self):
        """What a checkpoint of this process needs, as numbers, texts and tensors."""

        def tensor(x):
            return None if x is None else torch.from_numpy(x.copy())

        if self.device is not None:
            self.device.save()
        groups = [{"methods": [[tensor(part) for part in m.state()] for m in g.all], "rate": g.rate,
                   "again": tensor(g.residual if g.again else None)} for g in self.groups]
        return {"method": self.text, "lengths": self.sizes, "options": self.options, "workers": self.workers,
                "rank": self.rank, "step": self.step, "residual": tensor(self.residual), "groups": groups}

    def load_state_dict(self, saved):
        """Goes on where the state_dict of the same rank was, with the same bits. All processes call it together. From
        another number of processes it takes the list of all their state_dicts: every process then gets the sum of the
        residuals over their old number, so that what waits stays the same; all else begins anew."""
        problem, one = None, saved[0] if isinstance(saved, (list, tuple)) else saved
        try:
            if one["method"] != self.text or one["lengths"] != self.sizes:
                raise ValueError(f"the state of '{one['method']}' for other parameters or another method")
            if one is not saved and one["workers"] == len(saved) != self.workers:
                self.share_out(saved)
            else:
                saved = saved[self.rank] if one is not saved else saved
                self.resume(saved)
            self.step = one["step"]
            if self.device is not None:
                self.device.load()
        except Exception as error:
            problem = error
        self.agree(problem, {"step": self.step})

    def share_out(self, saved):
        for x in [self.residual] if self.residual is not None else []:
            x[:] = sum(one["residual"].numpy().astype(np.float64) for one in saved) / len(saved)

    def resume(self, saved):
        if (saved["workers"], saved["rank"], saved["options"]) != (self.workers, self.rank, self.options):
            raise ValueError(f"the state of rank {saved['rank']} of {saved['workers']} with {saved['options']}, for "
                             f"rank {self.rank} of {self.workers} with {self.options}")
        if self.residual is not None:
            self.residual[:] = saved["residual"].numpy()
        for g, had in zip(self.groups, saved["groups"]):
            g.rate = g.rate_before = self.rate = had["rate"]
            for m, parts in zip(g.all, had["methods"]):
                m.load([part.numpy() for part in parts])
            if g.again and g.residual is not None:
                g.residual[:] = had["again"].numpy()

    def __getstate__(self):
        """For torch.save and pickle. What is read back is given to register in the place of the text."""
        return self.state_dict()

    def __setstate__(self, saved):
        self.saved = saved

    @property
    def after(self):
        """The array in which a step writes the residual that it leaves."""
        return self.gradient if self.swaps else self.residual

    def close(self):
        """Ends the threads and the connections of this state, which no step can use any more."""
        self._end()

    # ---- a group

    def compress(self, group, step):
        """Compresses the group's gradient; its sum <- that over all processes of what they sent."""

        def spread(sums):
            second, own = [], sums[self.rank] / np.float32(self.workers)
            group.again.step(step, [own], [group.residual], lambda message: second.extend(message) or message)
            for total, message in zip(sums, self.gather(second, group.lane, group)):
                total[:] = 0
                decode(total, message[HEAD:])
                total *= np.float32(self.workers)

        gradients = [self.gradient[part] for part in group.slices]
        residuals = [self.residual[part] if self.residual is not None else None for part in group.slices]
        if self.swaps:
            gradients, residuals = residuals, gradients
        gather, deal, reduce = (functools.partial(f, lane=group.lane, group=group)
                                for f in (self.gather, self.deal, self.reduce))
        ways = (deal, 1.0, None, spread, self.rank) if group.again else (gather, 1.0, None if self.whole else reduce)
        steps(group.methods, step, gradients, residuals, *ways, into=[group.part_of_sum(part) for part in group.slices])
        if group.lost is not None:  # of halves, what the division by the number of processes rounded away
            self.after[group.whole] += group.lost

    def exchange(self, group, step, came, problem=None):
        """Exchanges a group. It returns False where a gradient was not finite; errors are the same in all processes."""
        group.keep(self)
        group.idle, group.sent, group.lost, group.added = [], Sent(), None, 0
        late, self.late = self.late, None
        try:
            try:
                if problem or late:
                    raise problem or late
                for bucket in dict.fromkeys(bucket for bucket, _, _ in came):
                    bucket.arrive()
                if not all([take(self.gradient[place], g) for _, place, g in came]):
                    raise FloatingPointError
                self.compress(group, step)
                group.sent = functools.reduce(Sent.plus, (m.sent for m in group.all))
            except (Told, Unused, Broken):
                raise
            except Exception as error:
                lost = isinstance(error, FloatingPointError) or getattr(error, "status", 0) == NONFINITE
                self.report(group, NOT_FINITE if lost else FAILED, error)
        except Unused:
            group.restore(self)
            group.sum[:] = 0
        except Told as told:
            group.restore(self)
            if told.words is not None:
                raise RuntimeError(told.words) from None
            group.sum[:] = np.nan
            return False
        for name in group.idle:
            group.restore_layer(self, group.places[name])
        return True

    def end(self, group, good):
        """After each group. True after the last one of a step, which then counts, or is undone in all groups."""
        self.done, self.bad = self.done + 1, self.bad or not good
        if self.done < len(self.groups):
            return False
        if self.bad:
            for g in self.groups:
                g.restore(self)
        else:
            self.step += 1
            if self.swaps:
                self.residual, self.gradient = self.gradient, self.residual
        self.count_sent()
        self.done, self.bad = 0, False
        return True

    def count_sent(self):
        self.sent = functools.reduce(Sent.plus, (g.sent for g in self.groups))
        self.total = self.total.plus(self.sent)

    def incomplete(self, group):
        names = ", ".join(sorted(group.missing))
        return RuntimeError(f"step {self.step} ends without gradients of these parameters: {names}. Register the hook "
                            "after what makes parameters trainable or not")

    def give(self, gradients, names):
        """gradients <- the means of these parameters' gradients."""
        if self.device is not None:
            give(gradients, [self.device.mean_of(name) for name in names])
            return
        for g, name in zip(map(real, gradients), names):
            group = self.group_of[name]
            total = torch.from_numpy(group.part_of_sum(group.places[name]))
            torch.div(total.view_as(g), self.workers, out=g)

    def run(self, group, waiting, came, problem):
        """On a thread: exchanges a group, and completes the buckets that have all of theirs. One with an error waits
        for the end of the step, so that all is as it was when the caller hears of it."""
        good, failure = False, None
        try:
            good = self.exchange(group, self.step, came, problem)
        except Exception as error:
            failure = error
        with self.lock:
            for bucket in waiting:
                bucket.missing -= 1
                bucket.failure = bucket.failure or failure
            self.held += [bucket for bucket in waiting if bucket.missing == 0]
            ends = self.end(group, good)
            ready = [bucket for bucket in self.held if ends or bucket.failure is None]
            self.held = [bucket for bucket in self.held if bucket not in ready]
        for bucket in ready:
            bucket.complete(self)

    def submit(self, group):
        waiting, group.waiting, group.missing = group.waiting, [], set(group.names)
        problem, group.problem, group.left = group.problem, None, True
        came, group.came = group.came, []
        if self.tracks:
            group.used = self.used.intersection(group.names)
        if group.lane not in threads:
            threads[group.lane] = concurrent.futures.ThreadPoolExecutor(1)
        threads[group.lane].submit(self.run, group, waiting, came, problem)

    def take(self, bucket, last):
        """Takes the bucket's gradients, and sends on their way the groups that are complete."""
        if self.device is not None:
            self.device.take(bucket, last)
            return
        for g, name in zip(bucket.gradients, bucket.names):
            group = self.group_of[name]
            group.missing.discard(name)
            group.came.append((bucket, group.places[name], g))
            if bucket not in group.waiting:
                group.waiting.append(bucket)
        for group in self.groups:
            if last and group.missing and not group.left:
                group.problem = self.incomplete(group)
            if not group.missing or last and not group.left:
                self.submit(group)
        if last:
            self.used.clear()
            for group in self.groups:
                group.left = False


def hook(state, bucket):
    """For register_comm_hook, and for PyTorch's wrappers of hooks."""
    ours = Bucket(state, bucket)
    result = ours.future.then(ours.result)
    if ours.missing == 0:
        ours.future.set_result(None)
    state.take(ours, bucket.is_last())
    return result


def register(model, text, **options):
    """Compresses what this DistributedDataParallel exchanges by the method `text`. Returns the State, whose options are
    `group`, `whole` and `group_bytes`. In the place of the text stands a State that was read from a file: then method
    and options are its own, and it goes on where it was."""
    if isinstance(text, State):
        state = State(model, text.saved["method"], **{**text.saved["options"], **options})
        state.load_state_dict(text.saved)
    else:
        state = State(model, text, **options)
    model.register_comm_hook(state, hook)
    return state
