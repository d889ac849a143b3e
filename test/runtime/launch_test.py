#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs whose own launcher starts the ranks: --launch node and once."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import Daemon, Job, LAUNCHER, TRAINER, run, wait_for  # noqa: E402

GRACE = 20_000_000


def begin(root, daemon, command, **fields):
    job = Job(root, daemon, command, form="rank", **fields)
    assert job.start() == "started", job.stderr
    daemon.accept()
    daemon.wait("started")
    return job


def one_command_is_started_with_the_names_of_the_group_and_none_of_a_rank(root):
    for form in ("node", "once"):
        job = Job(root, None, ["sh", "-c", "env; echo words \"$0\" \"$1\"", "{nproc}",
                               "{nnodes}:{node_rank}:{master_addr}:{master_port}:{else}"],
                  size=3, level="restartable", launch=form, form="rank", n_nodes=2, node_rank=1,
                  env=["PATH=/usr/bin:/bin", "RANK=7", "LOCAL_RANK=7"],
                  ranks=[{"rank": r, "device": 4 + r} for r in range(3)], device_kind="cuda")
        job.start()
        assert job.wait_exit_record()["cause"] == "done"
        env = dict(line.split("=", 1) for line in job.log().splitlines() if "=" in line)
        assert "RANK" not in env and "LOCAL_RANK" not in env, env
        assert env["WORLD_SIZE"] == env["LOCAL_WORLD_SIZE"] == "3", env
        assert env["CUDA_VISIBLE_DEVICES"] == "4,5,6" and env["ELASTANE_LAUNCH"] == form, env
        words = job.lines("words")
        assert words == [f"words 3 2:1:127.0.0.1:{env['MASTER_PORT']}:{{else}}"], words
        assert not (job.dir / "rank-1.log").exists()


def r04_the_whole_budget_reaches_ranks_whose_launcher_would_kill_them_sooner(root):
    daemon = Daemon(root)
    trainer = f"{TRAINER} --plain --checkpoints {root}/c$RANK --save-ms 3000; exit $?"
    job = begin(root, daemon, [LAUNCHER, "{nproc}", "sh", "-c", trainer], size=2,
                launch="node", level="restartable")
    for rank in (0, 1):
        job.wait_line("step", rank, count=3)
    daemon.send("stop", grace_us=GRACE)
    end = daemon.wait("exit")
    assert (end["cause"], end["exit_code"]) == ("stopped", 0), end
    assert job.lines("saved") and job.lines("term", 1), job.log()


def a_launcher_that_restarts_its_ranks_is_stopped_all_the_same(root):
    daemon = Daemon(root)
    script = """import os, signal, subprocess
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
while True:
    subprocess.run(["sh", "-c", "echo $RANK up; exec sleep 100"], env={**os.environ, "RANK": "0"})
"""
    job = begin(root, daemon, ["/usr/bin/python3", "-c", script], launch="node",
                level="restartable")
    job.wait_line("0 up")
    daemon.send("stop", grace_us=GRACE)
    end = daemon.wait("exit")
    assert (end["cause"], end["exit_code"]) == ("stopped", 0), end
    assert not job.processes()


def what_a_wrapper_does_behind_its_launcher_has_the_grace_too(root):
    daemon = Daemon(root)
    trainer = f"{LAUNCHER} {{nproc}} {TRAINER} --plain; sleep 2.5; echo copied"
    job = begin(root, daemon, ["sh", "-c", trainer], size=2, launch="node", level="restartable")
    job.wait_line("step", 1)
    daemon.send("stop", grace_us=GRACE)
    end = daemon.wait("exit")
    assert (end["cause"], end["exit_code"]) == ("stopped", 0), end
    assert job.lines("copied"), job.log()


def a_launcher_without_ranks_is_told_itself(root):
    daemon = Daemon(root)
    job = begin(root, daemon,
                ["sh", "-c", "trap 'echo told; exit 0' TERM; echo up; while :; do sleep 0.02; done"],
                launch="once", level="restartable", size=2)
    job.wait_line("up")
    daemon.send("stop", grace_us=GRACE)
    end = daemon.wait("exit")
    assert (end["cause"], end["exit_code"]) == ("stopped", 0), end
    assert job.lines("told")


def a_command_is_started_once_whatever_the_size(root):
    daemon = Daemon(root)
    job = begin(root, daemon, ["sh", "-c", "echo up >>ups; exec sleep 1000"],
                launch="node", level="restartable", size=4)
    wait_for((job.dir / "ups").exists, "the command", None, job)
    daemon.send("stop", grace_us=GRACE)
    daemon.wait("exit")
    assert (job.dir / "ups").read_text() == "up\n"


if __name__ == "__main__":
    sys.exit(run([
        one_command_is_started_with_the_names_of_the_group_and_none_of_a_rank,
        r04_the_whole_budget_reaches_ranks_whose_launcher_would_kill_them_sooner,
        a_launcher_that_restarts_its_ranks_is_stopped_all_the_same,
        what_a_wrapper_does_behind_its_launcher_has_the_grace_too,
        a_launcher_without_ranks_is_told_itself,
        a_command_is_started_once_whatever_the_size,
    ]))
