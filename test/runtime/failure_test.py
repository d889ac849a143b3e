#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Ranks that crash, hang, freeze or run out of memory, and measurements of those that do
not."""

import os
import pathlib
import signal
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import FORM, Daemon, Job, TRAINER, failure, run  # noqa: E402

GRACE = 20_000_000


def begin(root, daemon, *options, **fields):
    job = Job(root, daemon, [TRAINER, *options], **fields)
    assert job.start() == "started", job.stderr
    daemon.accept()
    if not {"--samples", "--crash-at", "--oom-above"} & set(options):
        daemon.wait("started")  # a short job may have ended before we adopted it
    return job


def a_crash_of_one_rank_ends_the_others_and_names_the_first(root):
    daemon = Daemon(root)
    job = begin(root, daemon, "--crash-at", 5, "--only-rank", 2, size=3)
    end = daemon.wait("exit")
    assert (end["cause"], end["exit_code"], end["rank"]) == failure("user-error", 3, 2), end
    assert end["text"] == ("rank 2 ended with status 3" if FORM == "rank" else
                           "the command ended with status 1"), end
    assert not job.processes()
    assert end["samples_done"] == 0, end  # the checkpoint it took up


def a_rank_killed_from_outside_is_told_apart_from_a_user_error(root):
    daemon = Daemon(root)
    job = begin(root, daemon, size=2)
    victim = [p for p in job.processes() if b"RANK=1" in environ(p)][0]
    os.kill(victim, signal.SIGKILL)
    end = daemon.wait("exit")
    assert (end["cause"], end["exit_code"], end["rank"]) == failure("killed", 137, 1), end
    assert not job.processes()


def environ(pid):
    return pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")


def r14_out_of_memory_on_some_ranks_ends_all_and_tells_the_ceiling(root):
    daemon = Daemon(root)
    job = begin(root, daemon, "--oom-above", 3, "--only-rank", 1, size=2, batch=8)
    end = daemon.wait("exit")
    assert (end["cause"], end["micro_batch"], end["rank"]) == ("out-of-memory", 4, 1), end
    assert not job.processes()
    assert job.exit_record()["micro_batch"] == 4


def r14_all_ranks_drop_to_a_smaller_micro_batch_with_the_same_batch(root):
    daemon = Daemon(root)
    job = begin(root, daemon, "--oom-above", 3, "--samples", 80, "--only-rank", 1, size=2,
                batch=8, micro_batch=2, accumulation=2, generation=2)
    assert daemon.wait("exit")["cause"] == "done"
    for rank in (0, 1):
        assert "batch 8 micro 2 accumulation 2" in job.lines("plan", rank)[0]


def a_hang_is_seen_and_named(root):
    daemon = Daemon(root)
    job = begin(root, daemon, "--hang-at", 20, "--only-rank", 1, size=2, hang_us=500_000)
    end = daemon.wait("exit")
    assert end["cause"] == "killed" and end["rank"] == 1, end
    assert "made no step" in end["text"], end
    assert not job.processes()


def a_long_save_is_no_hang(root):
    daemon = Daemon(root)
    begin(root, daemon, "--checkpoints", root / "c", "--save-every", 10, "--save-ms", 2500,
          "--samples", 120, hang_us=500_000)
    assert daemon.wait("exit")["cause"] == "done"


def peers_of_a_rank_that_evaluates_do_not_hang(root):
    daemon = Daemon(root)
    job = begin(root, daemon, "--eval-at", 5, "--eval-ms", 3000, "--hang-at", 5,
                "--only-rank", 1, size=2, hang_us=500_000)
    assert daemon.wait("exit")["rank"] == 1  # it stands still after that as well
    assert job.lines("evaluated")


def r01_a_rank_that_vanishes_into_a_stop_is_seen(root):
    daemon = Daemon(root)
    job = begin(root, daemon, "--freeze-at", 5, "--only-rank", 0, size=2)
    end = daemon.wait("exit")
    assert (end["cause"], end["rank"]) == ("killed", 0), end
    assert "stopped by a signal" in end["text"] and not job.processes()


def beats_tell_progress_and_measurements_are_summed_up(root):
    daemon = Daemon(root)
    begin(root, daemon, "--step-us", 2000, size=2, batch=16)
    seen = daemon.wait("observe")
    while (seen["observed"], seen["micro_batch"]) != (1, 8):  # the first steps are cut
        seen = daemon.wait("observe")
    assert seen["count"] >= 3, seen
    assert seen["time_ns"] == 2000 * 1000 + 1 and seen["is_noisy"] == 0, seen
    assert seen["accumulation"] == 1, seen
    beat = daemon.wait("beat")
    assert beat["ranks_up"] == 2 and beat["step"] > 0, beat
    assert beat["samples_done"] == 16 * beat["step"] or beat["samples_done"] > 0, beat
    daemon.send("stop", grace_us=GRACE)
    daemon.wait("exit")


def warm_up_is_told_apart_from_steps(root):
    daemon = Daemon(root)
    begin(root, daemon, "--step-us", 20000, "--warm-up-ms", 2500, size=2)
    beat = daemon.wait("beat")
    while not beat["warm_up_us"]:
        assert beat["time_ns"] == 0, beat  # nothing is known of the speed yet
        beat = daemon.wait("beat")
    assert 2_300_000 <= beat["warm_up_us"] < 8_000_000, beat
    assert 20_000_000 <= beat["time_ns"] < 1_000_000_000, beat
    assert daemon.wait("beat")["warm_up_us"] == beat["warm_up_us"]
    daemon.send("stop", grace_us=GRACE)
    daemon.wait("exit")


def nonsense_on_the_channel_harms_nobody(root):
    daemon = Daemon(root)
    job = begin(root, daemon)
    answer = job.dial(generation=99)
    assert answer["kind"] == "turned-away"
    for noise in (b"GET / HTTP/1.1\r\n\r\n" * 20, b"\0" * 5000, os.urandom(4096)):
        with socket.socket(socket.AF_UNIX) as sock:
            sock.connect(str(job.dir / "channel"))
            sock.sendall(noise)
            try:
                assert sock.recv(1) == b""
            except ConnectionResetError:
                pass
    steps = len(job.lines("step"))
    job.wait_line("step", count=steps + 20)
    daemon.send("stop", grace_us=GRACE)
    assert daemon.wait("exit")["cause"] == "stopped"


if __name__ == "__main__":
    sys.exit(run([
        a_crash_of_one_rank_ends_the_others_and_names_the_first,
        a_rank_killed_from_outside_is_told_apart_from_a_user_error,
        r14_out_of_memory_on_some_ranks_ends_all_and_tells_the_ceiling,
        r14_all_ranks_drop_to_a_smaller_micro_batch_with_the_same_batch,
        a_hang_is_seen_and_named,
        a_long_save_is_no_hang,
        peers_of_a_rank_that_evaluates_do_not_hang,
        r01_a_rank_that_vanishes_into_a_stop_is_seen,
        beats_tell_progress_and_measurements_are_summed_up,
        warm_up_is_told_apart_from_steps,
        nonsense_on_the_channel_harms_nobody,
    ]))
