#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Real PyTorch ranks under a real shim; the daemon is played by test/runtime/harness.py."""

import collections
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "runtime")]
import tap  # noqa: E402
from harness import Daemon, Job, run  # noqa: E402

import elastane  # noqa: E402

GRACE = 60_000_000
DATASET = 120
TRAINER = tap.SOURCE / "test/support/small_trainer.py"
COMMAND = ["env", f"ELASTANE_LIBRARY={tap.LIBRARY}", f"PYTHONPATH={tap.SOURCE / 'python'}",
           "/usr/bin/python3", str(TRAINER)]


def begin(root, daemon, *options, **fields):
    fields.setdefault("checkpoint_dir", str(root / "checkpoints"))
    job = Job(root, daemon, [*COMMAND, *map(str, options)], **fields)
    assert job.start() == "started", job.stderr
    daemon.accept()
    daemon.wait("started")
    return job


def finish(daemon, job):
    daemon.send("exit-ack")
    job.wait_shim_gone()


def alone(*options):
    """What the trainer prints without a daemon."""
    return subprocess.run([*COMMAND, "--pace", "off", *map(str, options)], check=True,
                          stdout=subprocess.PIPE, text=True).stdout.splitlines()


def numbers(lines):
    """The numbers behind the first word of each line."""
    return [tuple(map(int, line.split()[1:])) for line in lines]


def resize(root, plans, *options):
    """One job through (size, batch) plans; each but the last ends by save and stop a few
    steps into it, in the middle of an epoch. Returns the incarnations."""
    daemon = Daemon(root)
    jobs = []
    for number, (size, batch) in enumerate(plans, 1):
        is_last = number == len(plans)
        job = begin(root, daemon, *options, size=size, batch=batch, incarnation=number,
                    generation=number, job=7, batch_base=12, lr_to_ppm=batch * 1000000 // 12)
        jobs.append(job)
        if not is_last:
            job.wait_line("step", count=3)
            daemon.send("save", grace_us=GRACE)
            saved = daemon.wait("saved")
            assert saved["manifest"].endswith(".manifest"), saved
            daemon.send("stop", grace_us=GRACE)
        end = daemon.wait("exit")
        assert end["cause"] == ("done" if is_last else "stopped"), (end, job.log())
        finish(daemon, job)
    return jobs


def r06_each_epoch_holds_each_sample_once_over_a_growth_and_a_shrink(root):
    """And R07: the counters never move back and never skip."""
    plans = [(1, 12), (2, 20), (1, 12)]
    jobs = resize(root, plans)
    seen = collections.Counter()
    done = 0
    for job, (size, batch) in zip(jobs, plans):
        rates = set()
        for rank in range(size):
            for epoch, *ids in numbers(job.lines("part", rank)):
                seen.update((epoch, index) for index in ids)
            at = done
            assert job.lines("resume", rank) == [f"resume {done}"]
            for line in job.lines("step", rank):
                at += min(batch, DATASET - at % DATASET)
                assert int(line.split()[1]) == at, (line, at)
            rates |= {line.split()[1] for line in job.lines("rate", rank)}
        assert rates == {repr(0.1 * (batch * 1000000 // 12) / 1e6)}, (rates, batch)
        done = at
    want = collections.Counter((epoch, i) for epoch in range(2) for i in range(DATASET))
    assert seen == want, (list((want - seen).items())[:5], list((seen - want).items())[:5])
    assert done == 2 * DATASET


def a_job_that_was_resized_ends_with_the_weights_of_one_that_was_not(root):
    jobs = resize(root, [(1, 12), (2, 12), (1, 12)])
    resized = float(jobs[-1].lines("end")[0].split()[1])
    plain = float([line for line in alone() if line.startswith("end")][0].split()[1])
    assert abs(resized - plain) < 1e-9, (resized, plain)
    found = elastane.checkpoint_latest(root / "checkpoints")
    assert (found.samples_done, found.dataset_size, found.seed) == (2 * DATASET, DATASET, 4)


def r16_a_failed_save_calls_the_resize_off_and_training_goes_on(root):
    daemon = Daemon(root)
    job = begin(root, daemon, "--file-limit", 1000, "--epochs", 1000, size=2, batch=12)
    job.wait_line("step", count=3)
    daemon.send("save", grace_us=GRACE)
    failed = daemon.wait("save-failed")
    assert failed["text"].startswith("rank 0 cannot save: "), failed
    assert "File too large" in failed["text"], failed
    steps = len(job.lines("step", 1))
    job.wait_line("step", rank=1, count=steps + 10)
    assert len(job.lines("plan", 0)) == 1
    daemon.send("stop", grace_us=GRACE)
    end = daemon.wait("exit")
    assert end["cause"] == "stopped" and "cannot save" in end["text"], end
    finish(daemon, job)
    assert elastane.checkpoint_latest(root / "checkpoints") is None


def r14_out_of_memory_on_one_rank_ends_all_and_names_the_micro_batch(root):
    daemon = Daemon(root)
    job = begin(root, daemon, "--oom-above", 5, "--only-rank", 1, size=2, batch=12)
    oom = daemon.wait("oom")
    assert (oom["rank"], oom["micro_batch"]) == (1, 6), oom
    assert daemon.wait("exit")["micro_batch"] == 6
    assert not job.processes()
    finish(daemon, job)
    job = begin(root, daemon, "--oom-above", 5, "--only-rank", 1, "--epochs", 1, size=2,
                batch=12, micro_batch=3, accumulation=2, incarnation=2, generation=2)
    assert daemon.wait("exit")["cause"] == "done", job.log(1)
    assert {len(ids) for _, *ids in numbers(job.lines("part", 1))} == {3}
    finish(daemon, job)


def the_first_steps_try_smaller_micro_batches_and_report_each(root):
    daemon = Daemon(root)
    job = begin(root, daemon, "--probe", "--epochs", 4, "--pace", "5ms+1ms*m", batch=32)
    assert daemon.wait("exit")["cause"] == "done", job.log()
    parts = [len(ids) for _, *ids in numbers(job.lines("part"))]
    # An epoch has steps of 32, 32, 32 and 24 samples.
    tried = [32] * 3 + [12] * 2 + [16] * 4 + [8] * 4 + [6] * 4 + [8] * 4
    assert parts[:len(tried) + 3] == tried + [32, 32, 24], parts
    assert sum(parts) == 4 * DATASET, parts
    steps = [int(line.split()[1]) for line in job.lines("step")]
    assert steps == sorted({min(32 * i, DATASET) + DATASET * e
                            for e in range(4) for i in range(1, 5)}), steps
    finish(daemon, job)


def a_job_that_is_measured_passively_cuts_no_step(root):
    daemon = Daemon(root)
    job = begin(root, daemon, "--probe", "--epochs", 3, "--pace", "off", batch=32,
                profile="passive")
    assert daemon.wait("exit")["cause"] == "done", job.log()
    parts = [len(ids) for _, *ids in numbers(job.lines("part"))]
    assert parts == 3 * [32, 32, 32, 24], parts
    finish(daemon, job)


def a_stop_while_saving_of_ones_own_accord_is_obeyed(root):
    daemon = Daemon(root)
    job = begin(root, daemon, "--save-every", 0.05, "--epochs", 1000, batch=12)
    job.wait_line("step", count=30)
    daemon.send("stop", grace_us=GRACE)
    end = daemon.wait("exit")
    assert end["cause"] == "stopped" and end["exit_code"] == 0, (end, job.log())
    finish(daemon, job)
    assert elastane.checkpoint_latest(root / "checkpoints").samples_done == \
        int(job.lines("step")[-1].split()[1])


if __name__ == "__main__":
    os.environ.pop("ELASTANE_LIBRARY", None)
    sys.exit(run([
        r06_each_epoch_holds_each_sample_once_over_a_growth_and_a_shrink,
        a_job_that_was_resized_ends_with_the_weights_of_one_that_was_not,
        r16_a_failed_save_calls_the_resize_off_and_training_goes_on,
        r14_out_of_memory_on_one_rank_ends_all_and_names_the_micro_batch,
        the_first_steps_try_smaller_micro_batches_and_report_each,
        a_job_that_is_measured_passively_cuts_no_step,
        a_stop_while_saving_of_ones_own_accord_is_obeyed,
    ]))
