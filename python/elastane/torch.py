# SPDX-License-Identifier: Apache-2.0
"""Elastic data-parallel training with PyTorch: a script changes at most eight lines.

    run = elastane.torch.start(model, optimizer, dataset_size=len(x), batch_size=64)
    for batch in run.batches(epochs=3):
        for part in batch:
            loss = loss_fn(model(x[part.indices]), y[part.indices])
            part.backward(loss)
        batch.step()

The scheduler decides how many ranks there are and how large the global batch is; a batch
here is this rank's share of one optimizer step, cut into parts (micro-batches) of at most
the plan's size. start() joins the process group and takes up the last checkpoint;
batch.step() all-reduces, applies the learning-rate rule, steps the optimizer, and saves or
ends the process when the scheduler says so. See docs/training.md.

Gradients: all of a rank's gradients are views of one flat tensor per dtype. Each part adds
its gradient times its weight, the weights are summed beside them by the same all-reduce, and
the sum is divided by the total weight. So the gradient is that of the mean loss over the
whole global batch, whatever the split; a rank without samples adds zeros. A model wrapped in
DistributedDataParallel is unwrapped, because its equal averaging would be wrong here. A
parameter that took no part has a gradient of zeros, not None, at every size. Sparse
gradients are not supported; buffers (running statistics) are those of rank 0.
"""

import atexit
import os
import random
import re
import sys
import time
import warnings

import torch
import torch.distributed as dist

import elastane

__all__ = ["Batch", "Part", "Run", "parse_pace", "start"]

_PACE_TERM = re.compile(r"(\d+(?:\.\d+)?)(ns|us|ms|s)(\*m)?")
_SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def start(model, optimizer, dataset_size, batch_size=64, scheduler=None, seed=0, **options):
    """Makes this process a rank of its job and returns the Run. Call it once, after the
    model stands on its device and before training.

    model         a torch.nn.Module; its values are taken from rank 0
    optimizer     over the model's parameters; its learning rates are those for the base
                  batch, and stay so between steps
    dataset_size  samples in an epoch
    batch_size    global batch, samples, when nobody gives one
    scheduler     a torch.optim.lr_scheduler, stepped here once at the end of each epoch
    seed          of the order of the samples

    Options:
    checkpoint_dir  None: $ELASTANE_CHECKPOINT_DIR, and without that no checkpoints
    save_every_s    seconds between saves of one's own accord (60); 0: only when told
    probe           False: try no smaller micro-batches in the first steps of a new job; a
                    job submitted with another --profile than probe does not either

    With ELASTANE_PACE, such as "20ms+0.4ms*m", each micro-batch of m samples lasts at least
    so long; the rest is slept, standing in for a slower device.

    Ends the process with status 0 when the daemon does not want it (any more).
    """
    return Run(model, optimizer, dataset_size, batch_size, scheduler, seed, **options)


def parse_pace(text):
    """(seconds, seconds per sample) of a pace such as "20ms+0.4ms*m"; None for "off"; raises
    ValueError."""
    if text == "off":
        return None
    fixed = per_sample = 0.0
    for term in text.replace(" ", "").split("+"):
        match = _PACE_TERM.fullmatch(term)
        if not match:
            raise ValueError(f"pace {text!r}: {term!r} is no time such as 20ms or 0.4ms*m")
        seconds = float(match[1]) * _SECONDS[match[2]]
        if match[3]:
            per_sample += seconds
        else:
            fixed += seconds
    return fixed, per_sample


class Run:
    """One rank's training, from start() to the end of the process.

    session         the elastane.Session; session.plan says what is to be trained with
    rank, size      this rank, and how many there are
    model           the module to call (unwrapped)
    dataset_size    samples in an epoch
    """

    def __init__(self, model, optimizer, dataset_size, batch_size, scheduler, seed, *,
                 checkpoint_dir=None, save_every_s=60.0, probe=True):
        self.session = elastane.Session(batch_size)
        if self.session.mode == elastane.TURNED_AWAY:
            raise SystemExit(0)
        self.plan = self.session.plan
        self.rank, self.size = self.plan.rank, self.plan.size
        self.model = getattr(model, "module", model) if _is_wrapped(model) else model
        self.optimizer = optimizer
        self.scheduler = scheduler
        self.dataset_size = dataset_size
        self.seed = seed
        self.checkpoint_dir = checkpoint_dir or os.environ.get("ELASTANE_CHECKPOINT_DIR")
        self._save_every_s = save_every_s
        self._pace = parse_pace(os.environ.get("ELASTANE_PACE", "off"))
        self._gradients = _Gradients(self.model)
        self._owns_group = _join_group(self.plan, self._gradients.is_cuda)
        self._steps = 0  # of this process
        self._last_save = time.monotonic()
        self._current_micro = 0  # samples of the part in work
        self._is_unfinished = False  # at exit: there is more to train, or an exception came
        samples_done = self._load()
        self._is_new = probe and samples_done == 0 and \
            self.session.mode == elastane.CONNECTED
        self._share_state(samples_done)
        self.session.resume(samples_done)
        self._excepthook, sys.excepthook = sys.excepthook, self._on_exception
        atexit.register(self._at_exit)

    @property
    def samples_done(self):
        """Samples trained so far, all epochs and all incarnations of the job."""
        return self.session.samples_done

    def batches(self, epochs):
        """Yields a Batch per optimizer step until `epochs` epochs are done, counted from
        the job's beginning and not from this process's."""
        while self.samples_done < epochs * self.dataset_size:
            batch = Batch(self)
            yield batch
            if not batch.is_stepped:
                raise RuntimeError("batch.step() was not called; samples would be lost")
        if self.rank == 0 and self.checkpoint_dir and self._steps > 0:
            self._save()
        self.session.set_phase(elastane.PHASE_EVAL)

    def _end_part(self, samples, began_ns):
        if self._gradients.is_cuda:
            torch.cuda.synchronize()
        if self._pace:
            fixed, per_sample = self._pace
            left = fixed + per_sample * samples - (time.monotonic_ns() - began_ns) * 1e-9
            if left > 0:
                time.sleep(left)
        self.session.measured_micro(samples, time.monotonic_ns() - began_ns)

    def _reduce(self):
        began_ns = time.monotonic_ns()
        self._gradients.reduce(self.size)
        took_ns = time.monotonic_ns() - began_ns if self.size > 1 else 0
        self.session.measured_comm(took_ns, self._gradients.size_bytes)

    def _step_optimizer(self):
        """With learning rates times the plan's factor; afterwards they are as before, so
        that schedulers and checkpoints see the base batch's alone."""
        factor = elastane.lr_factor(self.plan, self.samples_done)
        groups = self.optimizer.param_groups
        rates = [group["lr"] for group in groups]
        for group in groups:
            group["lr"] = group["lr"] * factor
        try:
            self.optimizer.step()
        finally:
            for group, rate in zip(groups, rates):
                group["lr"] = rate

    def _end_step(self, samples):
        self._steps += 1
        if self.scheduler and (self.samples_done + samples) % self.dataset_size == 0:
            self.scheduler.step()
        action = self.session.step(samples)
        if action == elastane.SAVE:
            action = self._save() if self.rank == 0 else self.session.saved()
        elif action == elastane.CONTINUE and self._is_time_to_save():
            action = self._save()
        if action == elastane.STOP:
            self._is_unfinished = True
            raise SystemExit(0)

    def _is_time_to_save(self):
        return self.rank == 0 and self.checkpoint_dir and self._save_every_s > 0 and \
            time.monotonic() - self._last_save >= self._save_every_s

    def _save(self):
        """Saves and tells; returns the session's action. Training goes on after a save that
        failed: the scheduler hears the reason and calls the resize off."""
        self._last_save = time.monotonic()
        self.session.set_phase(elastane.PHASE_SAVE)
        if not self.checkpoint_dir:
            return self.session.save_failed("no checkpoint directory is set")
        state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(),
                 "scheduler": self.scheduler.state_dict() if self.scheduler else None,
                 "random": _get_random(self._gradients.is_cuda)}
        try:
            made = elastane.checkpoint_save(
                self.checkpoint_dir, lambda path: _write(state, path),
                samples_done=self.samples_done, dataset_size=self.dataset_size,
                seed=self.seed, step=self._steps, generation=self.plan.generation)
        except (OSError, RuntimeError, elastane.Error) as error:
            warnings.warn(f"checkpoint not written: {error}")
            return self.session.save_failed(error)
        return self.session.saved(made.manifest.decode())

    def _load(self):
        """Takes up the newest checkpoint; returns its samples_done, 0 without one."""
        found = elastane.checkpoint_latest(self.checkpoint_dir) if self.checkpoint_dir \
            else None
        if not found:
            if self.rank > 0:
                self._seed_rank(0)
            return 0
        if (found.dataset_size, found.seed) != (self.dataset_size, self.seed):
            raise ValueError(
                f"the checkpoint in {self.checkpoint_dir} is of {found.dataset_size} samples "
                f"and seed {found.seed}, not {self.dataset_size} and {self.seed}")
        state = torch.load(os.fsdecode(found.path), map_location="cpu")
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        if self.scheduler and state["scheduler"]:
            self.scheduler.load_state_dict(state["scheduler"])
        if self.rank == 0:
            _set_random(state["random"])
        else:
            self._seed_rank(found.samples_done)
        return found.samples_done

    def _seed_rank(self, samples_done):
        """A random stream of its own for each rank but the first, which goes on with the
        script's: ranks shall not draw the same dropout masks."""
        source = random.Random(f"{self.seed} {samples_done} {self.rank}")
        torch.manual_seed(source.getrandbits(63))
        random.seed(source.getrandbits(63))

    def _share_state(self, samples_done):
        """Model and ledger of rank 0 for all; RuntimeError if the ledgers differ."""
        if self.size == 1:
            return
        ledger = torch.tensor([samples_done, self.dataset_size, self.seed],
                              device=self._gradients.device)
        own = ledger.clone()
        dist.broadcast(ledger, 0)
        if not torch.equal(ledger, own):
            raise RuntimeError(f"rank {self.rank} would begin at (samples, data set, seed) "
                               f"{own.tolist()}, rank 0 at {ledger.tolist()}")
        for tensor in [*self.model.parameters(), *self.model.buffers()]:
            values = tensor.detach().contiguous()
            dist.broadcast(values, 0)
            if values.data_ptr() != tensor.data_ptr():
                tensor.detach().copy_(values)

    def _on_exception(self, kind, value, trace):
        self._is_unfinished = True
        if _is_out_of_memory(value) and self._current_micro > 0:
            self.session.out_of_memory(self._current_micro)
        self._excepthook(kind, value, trace)

    def _at_exit(self):
        if not self._is_unfinished:
            self.session.done()
        self.session.close()
        if self._owns_group and dist.is_initialized():
            dist.destroy_process_group()


class Batch:
    """This rank's share of one optimizer step; iterating over it yields its Parts.

    epoch        counted from 0
    samples      of all ranks
    own_samples  of this rank; may be 0
    """

    def __init__(self, run):
        self._run = run
        self._batch = elastane.next_batch(run.plan, run.dataset_size, run.samples_done)
        self.epoch = self._batch.epoch
        self.samples = self._batch.samples
        self.own_samples = self._batch.own_samples
        self.is_reduced = self.is_stepped = False
        run._gradients.clear()

    def __iter__(self):
        batch, run = self._batch, self._run
        first = batch.position + batch.own_offset
        for size in elastane.probe_passes(batch, run._steps if run._is_new else -1):
            numbers = elastane.indices(run.seed, run.dataset_size, first, size)
            first += size
            run._current_micro = size
            yield Part(run, batch.samples, torch.frombuffer(numbers, dtype=torch.int64))
            run._current_micro = 0

    def reduce(self):
        """All-reduces the gradients. step() does it; call it before, on every rank, to see
        or clip the whole batch's gradient."""
        if not self.is_reduced:
            self._run._reduce()
        self.is_reduced = True

    def step(self):
        """Ends the step on every rank, also on one without samples. May save; ends the
        process with status 0 when the scheduler says so."""
        self.reduce()
        self._run._step_optimizer()
        self.is_stepped = True
        self._run._end_step(self.samples)


class Part:
    """One micro-batch.

    indices  int64 tensor of shape (samples,): rows of the data set, 0 ... dataset_size - 1
    """

    def __init__(self, run, batch_samples, indices):
        self._run = run
        self._batch_samples = batch_samples
        self._began_ns = time.monotonic_ns()
        self.indices = indices

    def __len__(self):
        return len(self.indices)

    def backward(self, loss, weight=None):
        """Adds the part's gradient.

        loss    scalar: the mean over the part's samples, or over what `weight` counts
        weight  None: the number of samples. Else what the mean was taken over, such as
                tokens; then every part of every rank must declare it
        """
        share = (len(self) if weight is None else float(weight)) / self._batch_samples
        (loss * share).backward()
        self._run._gradients.weight += share
        self._run._end_part(len(self), self._began_ns)


class _Gradients:
    """The model's gradients as views of one flat tensor per dtype, whose last element
    carries the weight through the all-reduce."""

    def __init__(self, model):
        self._flats = []
        self._views = []  # (parameter, its view)
        kinds = {}
        for parameter in model.parameters():
            if parameter.requires_grad:
                kinds.setdefault((parameter.dtype, parameter.device), []).append(parameter)
        for (dtype, device), parameters in kinds.items():
            total = sum(parameter.numel() for parameter in parameters)
            flat = torch.zeros(total + 1, dtype=dtype, device=device)
            at = 0
            for parameter in parameters:
                view = flat[at:at + parameter.numel()].view_as(parameter)
                self._views.append((parameter, view))
                at += parameter.numel()
            self._flats.append(flat)
        if not self._flats:
            raise ValueError("the model has no parameter that requires a gradient")
        self.device = self._flats[0].device
        self.is_cuda = self.device.type == "cuda"
        self.size_bytes = sum(flat.numel() * flat.element_size() for flat in self._flats)
        self.weight = 0.0

    def clear(self):
        self.weight = 0.0
        for flat in self._flats:
            flat.zero_()
        for parameter, view in self._views:
            parameter.grad = view

    def _gather(self):
        """Takes in gradients that somebody has put in the place of our views."""
        for parameter, view in self._views:
            if parameter.grad is view:
                continue
            if parameter.grad is not None:
                view.copy_(parameter.grad)
            parameter.grad = view

    def reduce(self, size):
        self._gather()
        for flat in self._flats:
            flat[-1] = self.weight
            if size > 1:
                dist.all_reduce(flat)
            least = torch.finfo(flat.dtype).tiny  # no weight at all: zeros stay zeros
            flat.div_(flat[-1].clone().clamp_(min=least))


def _is_wrapped(model):
    return isinstance(model, (torch.nn.parallel.DistributedDataParallel,
                              torch.nn.DataParallel))


def _join_group(plan, is_cuda):
    """True when a process group was made here. One rank needs none."""
    if plan.size == 1 or dist.is_initialized():
        return False
    if os.environ.setdefault("MASTER_ADDR", "127.0.0.1").startswith("127."):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    backend = "nccl" if is_cuda and dist.is_nccl_available() else "gloo"
    dist.init_process_group(backend, rank=plan.rank, world_size=plan.size)
    return True


def _write(state, path):
    """torch.save() through a file of our own, so that a full disk raises OSError."""
    with open(path, "wb", buffering=1 << 20) as out:
        torch.save(state, out, _use_new_zipfile_serialization=False)


def _get_random(is_cuda):
    return {"torch": torch.get_rng_state(), "python": random.getstate(),
            "cuda": torch.cuda.get_rng_state() if is_cuda else None}


def _set_random(state):
    torch.set_rng_state(state["torch"])
    random.setstate(state["python"])
    if state["cuda"] is not None and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["cuda"])


def _is_out_of_memory(error):
    """On a GPU by its class; the allocator of the CPU has but a text."""
    return isinstance(error, (MemoryError, torch.cuda.OutOfMemoryError)) or \
        isinstance(error, RuntimeError) and "can't allocate memory" in str(error)
