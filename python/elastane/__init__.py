# SPDX-License-Identifier: Apache-2.0
"""The training side of Elastane, for Python: a thin cover over libelastane, by ctypes.

A training loop asks for its plan, draws the samples of each optimizer step from the ledger,
says after each step that it is done, and saves or ends when it is told to:

    with elastane.Session(default_batch=64) as session:
        found = elastane.checkpoint_latest(directory)
        ...                                  # load the state from found.path
        session.resume(found.samples_done if found else 0)
        while session.samples_done < total:
            batch = elastane.next_batch(session.plan, dataset_size, session.samples_done)
            ...                              # train on the batch, see elastane.indices()
            action = session.step(batch.samples)
            if action == elastane.SAVE:
                ...                          # elastane.checkpoint_save()
                action = session.saved(manifest)
            if action == elastane.STOP:
                sys.exit(0)

elastane.torch does all of that for PyTorch. Without a daemon, and even without the library,
the same script trains alone: one rank (or what RANK and WORLD_SIZE say), its own batch, and
nobody who tells it to stop. Counts are in samples, times in nanoseconds. The Python side
holds no scheduling logic; what a function means in detail stands in elastane.h.
"""

import ctypes
import os
from array import array

from . import _alone, _library
from ._library import Batch, Checkpoint, Plan

__all__ = ["ALONE", "Batch", "CONNECTED", "CONTINUE", "Checkpoint", "DISABLED", "Error",
           "PHASE_COMPILE", "PHASE_EVAL", "PHASE_SAVE", "PHASE_TRAIN", "Plan", "SAVE", "STOP",
           "Session", "TURNED_AWAY", "checkpoint_latest", "checkpoint_save", "has_library",
           "indices", "lr_factor", "next_batch", "passes", "probe_passes"]

# What a training loop shall do next.
CONTINUE, SAVE, STOP = 0, 1, 2
# Session.mode.
ALONE, CONNECTED, TURNED_AWAY, DISABLED = 0, 1, 2, 3
# Session.set_phase(): what happens between steps; hangs are looked for in TRAIN only.
PHASE_TRAIN, PHASE_EVAL, PHASE_SAVE, PHASE_COMPILE = 1, 2, 3, 4

_NOTFOUND = -3
_WORDS = {-1: "out of memory", -2: "an argument is out of its range", -3: "not found",
          -6: "too long", -9: "the system refused", -12: "contradicts itself"}
_lib = _library.load()


class Error(Exception):
    """A call of libelastane failed; `code` is its ELASTANE_E_*."""

    def __init__(self, code, what):
        reason = _WORDS.get(code, f"error {code}")
        if code == -9 and ctypes.get_errno():
            reason = os.strerror(ctypes.get_errno())
        super().__init__(f"{what}: {reason}")
        self.code = code


def has_library():
    """Whether libelastane was found. Without it checkpoints cannot be made durable and
    samples come in another order; see the module's text."""
    return _lib is not None


def _check(code, what):
    if code < 0:
        raise Error(code, what)
    return code


class Session:
    """This process as one rank of a job. Use it as a context manager, from one thread.

    default_batch  global batch, samples, when nobody gives one; >= 0

    plan           the Plan; constant
    mode           ALONE, CONNECTED, TURNED_AWAY (the next step says STOP) or DISABLED
    message        the last sentence for people, or ""
    samples_done   as counted by resume() and step()
    """

    def __init__(self, default_batch=0):
        self._handle = None
        self._samples_done = 0
        self.plan = Plan()
        if _lib is None:
            self.plan = _alone.plan(default_batch)
            return
        handle = ctypes.c_void_p()
        _check(_lib.elastane_init(default_batch, ctypes.byref(handle)), "elastane_init")
        self._handle = handle
        _lib.elastane_get_plan(handle, ctypes.byref(self.plan))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Hangs up; says nothing about success. May be called twice."""
        if self._handle:
            _lib.elastane_free(self._handle)
        self._handle = None

    @property
    def mode(self):
        return _lib.elastane_get_mode(self._handle) if self._handle else ALONE

    @property
    def message(self):
        if not self._handle:
            return ""
        return _lib.elastane_get_message(self._handle).decode(errors="replace")

    @property
    def samples_done(self):
        if self._handle:
            return _lib.elastane_get_samples_done(self._handle)
        return self._samples_done

    def resume(self, samples_done):
        """Before the first step: where training takes up. 0: a fresh start."""
        self._samples_done = samples_done
        if self._handle:
            _check(_lib.elastane_resume(self._handle, samples_done), "elastane_resume")

    def step(self, samples):
        """After each optimizer step, on every rank, also on one that had no samples.

        samples: what the step consumed over all ranks. Returns CONTINUE, SAVE or STOP.
        """
        self._samples_done += samples
        if not self._handle:
            return CONTINUE
        action = _lib.elastane_step(self._handle, samples)
        return action if action >= 0 else _check(action, "elastane_step")

    def saved(self, manifest=""):
        """This rank's part of the state is safe; `manifest` on the rank that wrote it.

        After SAVE every rank must answer, and the call waits for the verdict; for a save of
        one's own accord it returns at once. Returns CONTINUE or STOP.
        """
        if not self._handle:
            return CONTINUE
        return _check(_lib.elastane_saved(self._handle, manifest.encode()), "elastane_saved")

    def save_failed(self, reason):
        """The state could not be written; `reason` is shown to the job's owner."""
        if not self._handle:
            return CONTINUE
        return _check(_lib.elastane_save_failed(self._handle, str(reason).encode()),
                      "elastane_save_failed")

    def done(self):
        """Training is complete; the process ends with status 0 soon."""
        if self._handle:
            _lib.elastane_done(self._handle)

    def set_phase(self, phase):
        """PHASE_*; step() sets PHASE_TRAIN again by itself."""
        if self._handle:
            _lib.elastane_set_phase(self._handle, phase)

    def measured_micro(self, micro_batch, time_ns):
        """Forward and backward of one micro-batch of so many samples took time_ns."""
        if self._handle:
            _lib.elastane_measured_micro(self._handle, micro_batch, time_ns)

    def measured_comm(self, time_ns, size_bytes):
        """The all-reduce of one step took time_ns for so many bytes."""
        if self._handle:
            _lib.elastane_measured_comm(self._handle, time_ns, size_bytes)

    def out_of_memory(self, micro_batch):
        """So many samples did not fit into the device's memory; end the process now. The
        job restarts from its checkpoint with a smaller micro-batch and the same batch."""
        if self._handle:
            _lib.elastane_out_of_memory(self._handle, micro_batch)


def next_batch(plan, dataset_size, samples_done):
    """The Batch that follows `samples_done` samples. Error unless plan.global_batch and
    dataset_size are at least 1."""
    if _lib is None:
        return _alone.next_batch(plan, dataset_size, samples_done)
    batch = Batch()
    _check(_lib.elastane_next_batch(plan, dataset_size, samples_done, batch),
           "elastane_next_batch")
    return batch


def passes(batch):
    """Samples of this rank's passes of a Batch, a list of batch.accumulation numbers."""
    share = _alone.share if _lib is None else _lib.elastane_pass
    return [share(batch, number) for number in range(batch.accumulation)]


def probe_passes(batch, step):
    """Samples of this rank's passes in step number `step` (from 0) of a new job: the first
    steps try smaller micro-batches, to be measured, unless ELASTANE_PROFILE says other than
    probe. Without empty passes."""
    if _lib is None:
        return [size for size in passes(batch) if size > 0]
    found = []
    while (size := _lib.elastane_probe_pass(batch, step, len(found))) > 0:
        found.append(size)
    return found


def indices(seed, dataset_size, position, count):
    """Indices into the data set of the samples at position ... position + count - 1.

    An array('q') of `count` numbers in 0 ... dataset_size - 1; arrays and tensors can share
    its memory. Each epoch has its own permutation, keyed by (seed, epoch) and nothing else.
    """
    found = array("q", bytes(8 * count))
    if _lib is None:
        found[:] = array("q", _alone.indices(seed, dataset_size, position, count))
        return found
    _check(_lib.elastane_indices(seed, dataset_size, position, count, found.buffer_info()[0]),
           "elastane_indices")
    return found


def lr_factor(plan, samples_done):
    """Factor on the learning rate that was chosen for plan.base_batch; pure."""
    return 1.0 if _lib is None else _lib.elastane_lr_factor(plan, samples_done)


def checkpoint_save(directory, write, **ledger):
    """Makes a checkpoint durable: temporary file, fsync, rename, manifest; the previous
    one is kept.

    directory  made when missing; one writer at a time
    write      called with the path of a temporary file, to which it writes the state
    ledger     samples_done, and what else of Checkpoint: dataset_size, seed, step,
               generation

    Returns the Checkpoint. When `write` raises or the system refuses, the exception goes
    on, and the last good checkpoint is as it was.
    """
    if _lib is None:
        raise Error(_NOTFOUND, "libelastane, which makes checkpoints durable")
    where = os.fsencode(directory)
    path = ctypes.create_string_buffer(_library.PATH_BYTES)
    _check(_lib.elastane_checkpoint_begin(where, path, len(path)), os.fspath(directory))
    try:
        write(os.fsdecode(path.value))
    except BaseException:
        _lib.elastane_checkpoint_abandon(path.value)
        raise
    made = Checkpoint(**ledger)
    _check(_lib.elastane_checkpoint_commit(where, path.value, made), os.fspath(directory))
    return made


def checkpoint_latest(directory):
    """The newest whole Checkpoint, or None; torn or damaged ones are passed over."""
    found = Checkpoint()
    if _lib is None:
        return None
    code = _lib.elastane_checkpoint_latest(os.fsencode(directory), found)
    if code == _NOTFOUND:
        return None
    _check(code, os.fspath(directory))
    return found
