# SPDX-License-Identifier: Apache-2.0
"""Finds libelastane and describes its functions to ctypes (src/libelastane/elastane.h)."""

import ctypes
import os
import pathlib
from ctypes import (POINTER, c_char, c_char_p, c_double, c_int, c_int32, c_int64, c_size_t,
                    c_uint32, c_uint64, c_void_p)

SONAME = "libelastane.so.1"
PATH_BYTES = 1024
MANIFEST_BYTES = 64


class Plan(ctypes.Structure):
    """struct elastane_plan: what this rank is to train with; constant while it lives.

    generation      rises with every change of members or batch; 0: alone
    rank, size      this rank, and how many there are (= devices)
    global_batch    samples per optimizer step over all ranks; 0: not stated
    micro_batch     samples, the largest share of one pass; 0: not stated
    accumulation    passes per step
    base_batch      the batch for which the learning rate was chosen; 0: none
    lr_*_ppm        factors on the learning rate in 1e-6; use elastane.lr_factor()
    ramp_start      samples done when this plan began
    ramp_samples    samples over which a larger factor is reached; 0: at once
    grace_us        microseconds between a stop notice and SIGKILL
    """

    _fields_ = [("generation", c_uint32), ("rank", c_int32), ("size", c_int32),
                ("local_rank", c_int32), ("global_batch", c_int32),
                ("micro_batch", c_int32), ("accumulation", c_int32),
                ("base_batch", c_int32), ("lr_rule", c_int32), ("restart_count", c_int32),
                ("lr_from_ppm", c_int64), ("lr_to_ppm", c_int64), ("ramp_start", c_int64),
                ("ramp_samples", c_int64), ("grace_us", c_int64)]

    def __repr__(self):
        return (f"Plan(generation {self.generation}, rank {self.rank} of {self.size}, batch "
                f"{self.global_batch}, micro-batch {self.micro_batch} x {self.accumulation})")


class Batch(ctypes.Structure):
    """struct elastane_batch: one optimizer step.

    epoch           counted from 0
    position        of the step's first sample among all samples of all epochs
    samples         of all ranks: the global batch, or what the epoch has left
    own_offset      of this rank's first sample within the step
    own_samples     may be 0: the rank takes part with weight 0
    accumulation    passes of this rank
    weight          own_samples / samples
    """

    _fields_ = [("epoch", c_int64), ("position", c_int64), ("samples", c_int32),
                ("own_offset", c_int32), ("own_samples", c_int32),
                ("accumulation", c_int32), ("weight", c_double)]


class Checkpoint(ctypes.Structure):
    """struct elastane_checkpoint: the ledger in a checkpoint, and where its data lies."""

    _fields_ = [("samples_done", c_int64), ("dataset_size", c_int64), ("seed", c_uint64),
                ("step", c_int64), ("generation", c_uint32), ("data_bytes", c_int64),
                ("manifest", c_char * MANIFEST_BYTES), ("path", c_char * PATH_BYTES)]


_HANDLE = c_void_p
_SIGNATURES = {
    "elastane_init": (c_int, [c_int32, POINTER(_HANDLE)]),
    "elastane_free": (None, [_HANDLE]),
    "elastane_get_mode": (c_int, [_HANDLE]),
    "elastane_get_message": (c_char_p, [_HANDLE]),
    "elastane_get_plan": (None, [_HANDLE, POINTER(Plan)]),
    "elastane_get_samples_done": (c_int64, [_HANDLE]),
    "elastane_resume": (c_int, [_HANDLE, c_int64]),
    "elastane_step": (c_int, [_HANDLE, c_int64]),
    "elastane_saved": (c_int, [_HANDLE, c_char_p]),
    "elastane_save_failed": (c_int, [_HANDLE, c_char_p]),
    "elastane_done": (None, [_HANDLE]),
    "elastane_set_phase": (None, [_HANDLE, c_int]),
    "elastane_measured_micro": (None, [_HANDLE, c_int32, c_int64]),
    "elastane_measured_comm": (None, [_HANDLE, c_int64, c_int64]),
    "elastane_out_of_memory": (None, [_HANDLE, c_int32]),
    "elastane_next_batch": (c_int, [POINTER(Plan), c_int64, c_int64, POINTER(Batch)]),
    "elastane_pass": (c_int32, [POINTER(Batch), c_int32]),
    "elastane_probe_pass": (c_int32, [POINTER(Batch), c_int64, c_int32]),
    "elastane_indices": (c_int, [c_uint64, c_int64, c_int64, c_int64, c_void_p]),
    "elastane_lr_factor": (c_double, [POINTER(Plan), c_int64]),
    "elastane_checkpoint_begin": (c_int, [c_char_p, c_char_p, c_size_t]),
    "elastane_checkpoint_commit": (c_int, [c_char_p, c_char_p, POINTER(Checkpoint)]),
    "elastane_checkpoint_abandon": (None, [c_char_p]),
    "elastane_checkpoint_latest": (c_int, [c_char_p, POINTER(Checkpoint)]),
}


def _candidates():
    """Where the library may be: beside the module, in the lib directories above an
    installed module, in the build directory of a source tree, where the system looks."""
    here = pathlib.Path(__file__).resolve().parent
    yield here / SONAME
    for lib in here.parents[1:4]:
        yield lib / SONAME
        yield from sorted(lib.glob(f"*-linux-gnu*/{SONAME}"))
    yield here.parents[1] / "build/src/libelastane" / SONAME
    yield SONAME


def load():
    """The library as a ctypes.CDLL, or None when there is none.

    ELASTANE_LIBRARY names the file; an OSError tells when that one cannot be loaded or is
    older than this module. It may be empty: no library at all.
    """
    named = os.environ.get("ELASTANE_LIBRARY")
    if named == "":
        return None
    return _open(named) if named else _first_that_loads()


def _open(path):
    library = ctypes.CDLL(str(path), use_errno=True)
    for name, (result, arguments) in _SIGNATURES.items():
        if not hasattr(library, name):
            raise OSError(f"{path} is older than the module elastane: it has no {name}")
        function = getattr(library, name)
        function.restype = result
        function.argtypes = arguments
    return library


def _first_that_loads():
    for path in _candidates():
        if isinstance(path, pathlib.Path) and not path.is_file():
            continue
        try:
            return _open(path)
        except OSError:
            continue
    return None
