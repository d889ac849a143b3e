#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stopping: who is told, how long it may take, and what is said when it went wrong."""

import os
import pathlib
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import FORM, Daemon, Job, TRAINER, run  # noqa: E402

GRACE = 20_000_000
STUBBORN = ["sh", "-c", "trap '' TERM; echo ready; while :; do sleep 0.05; done"]


def begin(root, daemon, command, **fields):
    job = Job(root, daemon, command, **fields)
    assert job.start() == "started", job.stderr
    daemon.accept()
    daemon.wait("started")
    return job


def plain(root, *options):
    words = [str(TRAINER), "--plain", "--checkpoints", str(root / "ckpt"),
             *map(str, options)]
    return ["sh", "-c", " ".join(words) + "; status=$?; exit $status"]


def r05_the_signal_reaches_the_trainer_under_a_shell_and_not_its_children(root):
    daemon = Daemon(root)
    job = begin(root, daemon, plain(root, "--children", 3), level="restartable")
    job.wait_line("step", count=3)
    daemon.send("stop", grace_us=GRACE)
    end = daemon.wait("exit")
    assert end["cause"] == "stopped" and end["exit_code"] == 0, end
    assert job.lines("term") and job.lines("saved")
    assert not job.lines("child got term"), job.log()
    assert not job.processes()


def r05_two_shells_deep_and_one_child_still_finds_the_trainer(root):
    daemon = Daemon(root)
    inner = plain(root, "--children", 1)[2]
    job = begin(root, daemon, ["sh", "-c", f"sh -c '{inner}'; exit $?"],
                level="restartable")
    job.wait_line("step", count=3)
    daemon.send("stop", grace_us=GRACE)
    end = daemon.wait("exit")
    assert end["cause"] == "stopped" and end["exit_code"] == 0, end
    assert job.lines("saved") and not job.lines("child got term"), job.log()


def r05_the_notice_travels_on_the_channel_when_there_is_one(root):
    daemon = Daemon(root)
    shell = f"{TRAINER} --checkpoints {root}/ckpt --children 2; exit $?"
    job = begin(root, daemon, ["sh", "-c", shell], size=2)
    job.wait_line("step", rank=1, count=3)
    daemon.send("stop", grace_us=GRACE)
    end = daemon.wait("exit")
    assert end["cause"] == "stopped" and end["exit_code"] == 0, end
    assert job.lines("saved") and job.lines("stop", 0) and job.lines("stop", 1)
    assert not job.lines("child got term"), job.log()


def r05_a_missing_acknowledgement_becomes_a_visible_error(root):
    daemon = Daemon(root)
    job = begin(root, daemon, [TRAINER, "--hang-at", 5, "--only-rank", 1], size=2)
    job.wait_line("hang", rank=1)
    daemon.send("save", grace_us=200_000)
    text = daemon.wait("save-failed")["text"]
    assert text == "rank 1 did not acknowledge the notice within its grace", text
    daemon.send("stop", grace_us=200_000)
    end = daemon.wait("exit")
    assert end["cause"] == "killed", end
    assert "rank 1 did not acknowledge the stop notice" in end["text"], end
    assert "lost" in end["text"] and not job.processes()


def r05_a_command_without_a_handler_is_named(root):
    daemon = Daemon(root)
    job = begin(root, daemon, ["sh", "-c", "echo up; exec sleep 1000"], level="restartable")
    job.wait_line("up")
    daemon.send("stop", grace_us=GRACE)
    end = daemon.wait("exit")
    code = 143 if FORM == "rank" else 1
    assert (end["cause"], end["exit_code"]) == ("stopped", code), end
    assert ("does not handle SIGTERM" if FORM == "rank" else "ended with status 1 after the stop") \
        in end["text"], end


def r04_the_whole_budget_reaches_the_trainer(root):
    daemon = Daemon(root)
    job = begin(root, daemon, [TRAINER, "--checkpoints", root / "c", "--save-ms", 1500],
                size=2, grace_us=300_000)
    job.wait_line("step", rank=1, count=3)
    daemon.send("stop", grace_us=10_000_000)
    end = daemon.wait("exit")
    assert end["cause"] == "stopped" and end["text"] == "", end
    saved = job.lines("saved ")
    assert saved and end["samples_done"] == int(saved[0].split()[1]), (end, saved)


def r04_sigkill_comes_when_the_budget_is_spent_and_not_before(root):
    daemon = Daemon(root)
    job = begin(root, daemon, [TRAINER, "--checkpoints", root / "c", "--save-ms", 60000])
    job.wait_line("step", count=3)
    daemon.send("stop", grace_us=700_000)
    job.wait_line("saving")
    end = daemon.wait("exit")
    assert end["cause"] == "killed" and "still saving" in end["text"], end
    assert not list((root / "c").glob("*.manifest"))


def r04_a_restartable_command_has_the_same_budget(root):
    daemon = Daemon(root)
    job = begin(root, daemon, plain(root, "--save-ms", 1200), level="restartable")
    job.wait_line("step", count=3)
    daemon.send("stop", grace_us=10_000_000)
    assert daemon.wait("exit")["cause"] == "stopped"
    assert job.lines("saved")


def a_command_that_ignores_the_notice_is_killed_after_the_grace(root):
    daemon = Daemon(root)
    job = begin(root, daemon, STUBBORN, level="rigid")
    job.wait_line("ready")
    daemon.send("stop", grace_us=300_000)
    end = daemon.wait("exit")
    assert end["cause"] == "killed" and "did not end within its grace" in end["text"], end
    assert not job.processes()


def a_stop_may_come_twice_and_a_shorter_grace_counts(root):
    daemon = Daemon(root)
    job = begin(root, daemon, STUBBORN, level="rigid")
    job.wait_line("ready")
    daemon.send("stop", grace_us=1_000_000_000)
    daemon.send("stop", grace_us=200_000)
    assert daemon.wait("exit")["cause"] == "killed"


def a_stop_before_all_ranks_are_up_ends_them(root):
    daemon = Daemon(root)
    job = Job(root, daemon, ["sh", "-c", "echo up; sleep 1000"], size=2)
    job.start()
    daemon.accept()
    job.wait_line("up", rank=1)
    daemon.send("stop", grace_us=500_000)
    end = daemon.wait("exit")
    assert end["cause"] in ("stopped", "killed"), end
    assert not job.processes()


def a_refused_incarnation_is_fenced(root):
    daemon = Daemon(root)
    job = Job(root, daemon, [TRAINER], size=2)
    job.start()
    daemon.accept(answer=None)
    daemon.send("refuse", text=b"incarnation 1 is over")
    job.wait_shim_gone()
    assert job.exit_record()["cause"] == "lost"
    assert not job.processes()


def messages_for_another_incarnation_are_ignored(root):
    daemon = Daemon(root)
    job = begin(root, daemon, [TRAINER])
    daemon.frames.send("stop", job=job.job, incarnation=99, grace_us=0)
    daemon.frames.send("stop", job=job.job + 1, incarnation=1, grace_us=0)
    steps = len(job.lines("step"))
    job.wait_line("step", count=steps + 50)
    daemon.send("stop", grace_us=GRACE)
    assert daemon.wait("exit")["cause"] == "stopped"


def a_signal_to_the_shim_is_a_stop(root):
    daemon = Daemon(root)
    job = begin(root, daemon, [TRAINER, "--checkpoints", root / "c"])
    os.kill(job.started()["shim_pid"], signal.SIGTERM)
    end = daemon.wait("exit")
    assert end["cause"] == "stopped" and job.lines("saved"), end


if __name__ == "__main__":
    sys.exit(run([
        r05_the_signal_reaches_the_trainer_under_a_shell_and_not_its_children,
        r05_two_shells_deep_and_one_child_still_finds_the_trainer,
        r05_the_notice_travels_on_the_channel_when_there_is_one,
        r05_a_missing_acknowledgement_becomes_a_visible_error,
        r05_a_command_without_a_handler_is_named,
        r04_the_whole_budget_reaches_the_trainer,
        r04_sigkill_comes_when_the_budget_is_spent_and_not_before,
        r04_a_restartable_command_has_the_same_budget,
        a_command_that_ignores_the_notice_is_killed_after_the_grace,
        a_stop_may_come_twice_and_a_shorter_grace_counts,
        a_stop_before_all_ranks_are_up_ends_them,
        a_refused_incarnation_is_fenced,
        messages_for_another_incarnation_are_ignored,
        a_signal_to_the_shim_is_a_stop,
    ]))
