#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A resize by checkpoint and restart: save in two phases, stop or go on, take up again."""

import collections
import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import FORM, Daemon, Job, TRAINER, failure, run  # noqa: E402

GRACE = 20_000_000


def begin(root, daemon, *options, **fields):
    job = Job(root, daemon, [TRAINER, "--checkpoints", root / "ckpt", *options], **fields)
    assert job.start() == "started", job.stderr
    daemon.accept()
    if not {"--samples", "--kill-in-save"} & set(options):
        daemon.wait("started")  # a short job may have ended before we adopted it
    return job


def finish(daemon, job):
    daemon.send("exit-ack")
    daemon.wait_end()
    job.wait_shim_gone()


def samples_of(line):
    words = line.split()
    return int(words[words.index("samples") + 1])


def a_save_stops_all_ranks_at_one_step_and_a_stop_ends_them_there(root):
    daemon = Daemon(root)
    job = begin(root, daemon, size=3)
    job.wait_line("step", rank=2, count=5)
    daemon.send("save", grace_us=GRACE)
    saved = daemon.wait("saved")
    assert saved["samples_done"] == 8 * saved["step"], saved
    assert saved["manifest"].endswith(".manifest"), saved
    daemon.send("stop", grace_us=GRACE)
    end = daemon.wait("exit")
    assert end["cause"] == "stopped" and end["exit_code"] == 0 and end["text"] == "", end
    assert end["samples_done"] == saved["samples_done"]
    for rank in range(3):
        assert len(job.lines("step", rank)) == saved["step"]
        assert job.lines("stop", rank)
    finish(daemon, job)


def a_save_that_is_called_off_lets_the_ranks_train_on(root):
    daemon = Daemon(root)
    job = begin(root, daemon, size=2)
    for _ in range(3):
        daemon.send("save", grace_us=GRACE)
        saved = daemon.wait("saved")
        daemon.send("go-on")
        job.wait_line("step", rank=1, count=saved["step"] + 20)
    assert len(job.lines("plan")) == 1 and len(job.lines("saved")) == 3
    daemon.send("stop", grace_us=GRACE)
    daemon.wait("exit")
    finish(daemon, job)


def a_save_asked_for_twice_is_answered_twice_and_done_once(root):
    daemon = Daemon(root)
    job = begin(root, daemon)
    daemon.send("save", grace_us=GRACE)
    first = daemon.wait("saved")
    daemon.send("save", grace_us=GRACE)
    assert daemon.wait("saved") == first
    daemon.send("stop", grace_us=GRACE)
    daemon.wait("exit")
    assert len(job.lines("saved")) == 1


def a_step_that_some_rank_has_passed_is_raised(root):
    daemon = Daemon(root)
    job = begin(root, daemon, "--step-us", 0, size=3)
    for _ in range(5):
        daemon.send("save", grace_us=GRACE)
        saved = daemon.wait("saved")
        daemon.send("go-on")
    daemon.send("save", grace_us=GRACE)
    saved = daemon.wait("saved")
    daemon.send("stop", grace_us=GRACE)
    daemon.wait("exit")
    for rank in range(3):
        assert len(job.lines("step", rank)) == saved["step"], (rank, saved)


def r16_a_failed_save_calls_the_resize_off_and_the_job_keeps_its_devices(root):
    daemon = Daemon(root)
    job = begin(root, daemon, "--fail-save", size=2)
    daemon.send("save", grace_us=GRACE)
    failed = daemon.wait("save-failed")
    assert failed["text"] == "rank 0 cannot save: no space left on device", failed
    steps = len(job.lines("step", 1))
    job.wait_line("step", rank=1, count=steps + 20)
    assert len(job.lines("plan", 0)) == 1
    daemon.send("stop", grace_us=GRACE)
    end = daemon.wait("exit")
    assert end["cause"] == "stopped" and "cannot save" in end["text"], end


def r16_a_full_disk_while_saving_leaves_the_last_good_checkpoint(root):
    daemon = Daemon(root)
    first = begin(root, daemon, "--samples", 80, "--save-every", 5, incarnation=1, job=7)
    assert daemon.wait("exit")["samples_done"] == 80
    finish(daemon, first)
    good = sorted(path.name for path in (root / "ckpt").iterdir())
    second = begin(root, daemon, "--file-limit", 2000, incarnation=2, job=7)
    assert second.wait_line("resume") == "resume 80"
    daemon.send("save", grace_us=GRACE)
    assert "no space" in daemon.wait("save-failed")["text"]
    assert sorted(path.name for path in (root / "ckpt").iterdir()) == good
    daemon.send("stop", grace_us=GRACE)
    daemon.wait("exit")
    finish(daemon, second)
    third = begin(root, daemon, "--samples", 88, incarnation=3, job=7)
    assert third.wait_line("resume") == "resume 80"
    daemon.wait("exit")


def r16_a_kill_while_saving_leaves_the_last_good_checkpoint(root):
    daemon = Daemon(root)
    first = begin(root, daemon, "--save-every", 5, "--kill-in-save", 3, incarnation=1, job=7)
    end = daemon.wait("exit")
    assert (end["cause"], end["exit_code"]) == failure("killed", 137)[:2], end
    assert end["samples_done"] == 80, end
    finish(daemon, first)
    second = begin(root, daemon, "--samples", 88, incarnation=2, job=7)
    assert second.wait_line("resume") == "resume 80"
    assert daemon.wait("exit")["cause"] == "done"


def r02_one_process_is_told_to_stop_while_all_are_to_save(root):
    daemon = Daemon(root)
    job = begin(root, daemon, "--save-ms", 3000, size=2)
    job.wait_line("step", count=3)
    daemon.send("save", grace_us=GRACE)
    job.wait_line("saving")
    victim = first_process(job)
    os.kill(victim, signal.SIGTERM if FORM != "rank" else signal.SIGINT)
    end = daemon.wait("exit")
    assert end["cause"] == "killed", end  # somebody's signal: the resize goes on without a save
    assert not job.processes()


def first_process(job):
    """What the shim has started: the launcher, or rank 0."""
    shim = job.started()["shim_pid"]
    return min(pid for pid in job.processes() if parent_of(pid) == shim)


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def run_through(root, daemon, plans, dataset, total):
    """One job through (size, batch) plans, each step of the way by save and stop in the
    middle of whatever epoch it is in. Returns the jobs."""
    jobs = []
    ids = root / "ids"
    ids.mkdir()
    for number, (size, batch) in enumerate(plans, 1):
        is_last = number == len(plans)
        # Ranks of the fake trainer begin apart and do not wait for each other, so steps are
        # long enough that a slow machine does not train past the end before the last plan.
        pace = ["--samples", total] if is_last else ["--step-us", 20000]
        job = begin(root, daemon, "--ids", ids, "--dataset", dataset, *pace,
                    size=size, batch=batch, incarnation=number, generation=number, job=7)
        jobs.append(job)
        if not is_last:
            job.wait_line("step", count=4)
            daemon.send("save", grace_us=GRACE)
            daemon.wait("saved")
            daemon.send("stop", grace_us=GRACE)
        end = daemon.wait("exit")
        assert end["cause"] == ("done" if is_last else "stopped"), end
        finish(daemon, job)
    return jobs


def r06_each_epoch_consumes_each_sample_once_over_a_shrink_and_a_growth(root):
    dataset, epochs = 700, 6
    plans = [(2, 12), (1, 7), (3, 32), (4, 18), (2, 64)]
    run_through(root, Daemon(root), plans, dataset, dataset * epochs)
    seen = collections.Counter()
    for path in (root / "ids").iterdir():
        seen.update(tuple(map(int, line.split())) for line in path.read_text().splitlines())
    want = collections.Counter((e, i) for e in range(epochs) for i in range(dataset))
    assert seen == want, (list((want - seen).items())[:5], list((seen - want).items())[:5])


def r07_counters_never_move_back_and_never_skip(root):
    plans = [(4, 16), (5, 20), (7, 28), (8, 32)]
    jobs = run_through(root, Daemon(root), plans, 100, 10000)
    done = 0
    for job, (size, batch) in zip(jobs, plans):
        for rank in range(size):
            at = done
            assert job.lines("resume", rank) == [f"resume {done}"]
            for line in job.lines("step", rank):
                step = min(batch, 100 - at % 100)  # an epoch's last batch is the remainder
                assert samples_of(line) == at + step, (line, at)
                at += step
        done = at
    assert done == 10000


def r15_shares_of_a_batch_that_is_not_divisible_sum_to_it(root):
    daemon = Daemon(root)
    job = begin(root, daemon, "--samples", 260, "--dataset", 130, size=4, batch=13)
    daemon.wait("exit")
    for step in range(20):
        shares = [job.lines("step", rank)[step].split()[-2:] for rank in range(4)]
        at = 0
        for offset, own in shares:
            assert int(offset) == at, shares
            at += int(own)
        assert at == 13, shares


def r15_a_rank_without_samples_takes_part(root):
    daemon = Daemon(root)
    job = begin(root, daemon, "--samples", 20, size=3, batch=2)
    assert daemon.wait("exit")["cause"] == "done"
    assert all(line.split()[-1] == "0" for line in job.lines("step", 2))
    assert len(job.lines("step", 2)) == 10


def r11_an_exit_is_told_only_after_the_save_and_the_last_process(root):
    daemon = Daemon(root)
    job = begin(root, daemon, "--save-ms", 400, "--children", 2, size=2)
    daemon.send("stop", grace_us=GRACE)
    end = daemon.wait("exit")
    assert not job.processes()
    saved = int(job.lines("saved ")[-1].split()[1])
    assert end["samples_done"] == saved, (end, saved)


def without_a_channel_a_save_fails_at_once(root):
    daemon = Daemon(root)
    job = Job(root, daemon, ["sh", "-c", "sleep 1000"], level="restartable")
    job.start()
    daemon.accept()
    daemon.wait("started")
    daemon.send("save", grace_us=GRACE)
    assert "not connected" in daemon.wait("save-failed")["text"]
    daemon.send("stop", grace_us=GRACE)
    daemon.wait("exit")


def a_save_that_takes_longer_than_its_grace_is_called_off(root):
    daemon = Daemon(root)
    job = begin(root, daemon, "--save-ms", 2500, size=2)
    daemon.send("save", grace_us=700_000)
    text = daemon.wait("save-failed")["text"]
    assert text == "rank 0 did not finish its save within its grace", text
    job.wait_line("saved")
    steps = len(job.lines("step"))
    job.wait_line("step", count=steps + 5)
    daemon.send("stop", grace_us=GRACE)
    assert daemon.wait("exit")["cause"] == "stopped"


def a_dead_daemon_never_stalls_training(root):
    daemon = Daemon(root)
    job = begin(root, daemon, size=2)
    daemon.send("save", grace_us=GRACE)
    saved = daemon.wait("saved")
    daemon.down()
    job.wait_line("step", rank=1, count=saved["step"] + 5)
    daemon.up()
    assert daemon.accept()["phase"] == "running"
    daemon.wait("started")
    daemon.send("stop", grace_us=GRACE)
    assert daemon.wait("exit")["cause"] == "stopped"


def training_that_completes_during_a_save_is_not_held_up(root):
    daemon = Daemon(root)
    begin(root, daemon, "--samples", 8000, "--step-us", 100, size=2)
    daemon.send("save", grace_us=GRACE)
    while True:
        message = daemon.wait("saved", "save-failed", "exit")
        if message["kind"] == "exit":
            break
        if message["kind"] == "saved":
            daemon.send("go-on")
    assert message["cause"] == "done", message


if __name__ == "__main__":
    sys.exit(run([
        a_save_stops_all_ranks_at_one_step_and_a_stop_ends_them_there,
        a_save_that_is_called_off_lets_the_ranks_train_on,
        a_save_asked_for_twice_is_answered_twice_and_done_once,
        a_step_that_some_rank_has_passed_is_raised,
        r16_a_failed_save_calls_the_resize_off_and_the_job_keeps_its_devices,
        r16_a_full_disk_while_saving_leaves_the_last_good_checkpoint,
        r16_a_kill_while_saving_leaves_the_last_good_checkpoint,
        r02_one_process_is_told_to_stop_while_all_are_to_save,
        r06_each_epoch_consumes_each_sample_once_over_a_shrink_and_a_growth,
        r07_counters_never_move_back_and_never_skip,
        r15_shares_of_a_batch_that_is_not_divisible_sum_to_it,
        r15_a_rank_without_samples_takes_part,
        r11_an_exit_is_told_only_after_the_save_and_the_last_process,
        without_a_channel_a_save_fails_at_once,
        a_save_that_takes_longer_than_its_grace_is_called_off,
        a_dead_daemon_never_stalls_training,
        training_that_completes_during_a_save_is_not_held_up,
    ]))
