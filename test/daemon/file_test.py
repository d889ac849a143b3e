#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""file_test.py - pipes and directories where files are expected are refused and wait for nobody."""

import os
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
from rig import BUILD, PATIENCE, TRAINER, Rig, run, until

CLI = BUILD / "src/prog/elastane"


def command(*words, **more):
    """Exit status and standard error; a command that hangs is a failure."""
    done = subprocess.run([CLI, *words], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=20, check=False, **more)
    return done.returncode, done.stderr


def stopped(rig):
    rig.start()
    rig.wait(rig.submit("true"), "done")
    rig.stop()


def replay_of_a_pipe_is_refused():
    for name in ("state.db", "state.db-wal"):
        with Rig() as rig:
            stopped(rig)
            path = rig.state / name
            path.unlink(missing_ok=True)
            os.mkfifo(path, 0o600)
            status, words = command("replay", rig.state)
            assert status != 0 and f"{name} is not a regular file" in words, (status, words)


def state_with_a_pipe_for_a_file_is_refused_by_name():
    for name in ("state.db", "lock"):
        with Rig() as rig:
            stopped(rig)
            (rig.state / name).unlink()
            os.mkfifo(rig.state / name, 0o600)
            assert rig.launch().wait(PATIENCE) == 1
            rig.process.stdout.close()
            rig.process = None
            assert f"{name} is not a regular file" in rig.log(), rig.log()


def calibration_that_is_a_pipe_is_left_alone():
    with Rig() as rig:
        stopped(rig)
        os.mkfifo(rig.state / "calibration.json", 0o600)
        rig.start()
        rig.wait(rig.submit("true"), "done")


def scenario_that_is_a_pipe_is_refused_and_so_is_a_picture_that_nobody_reads():
    with Rig() as rig:
        pipe = rig.top / "pipe"
        os.mkfifo(pipe)
        status, words = command("simulate", pipe)
        assert status != 0 and "not a regular file" in words, (status, words)
        story = rig.top / "a.scn"
        story.write_text("cluster 1 nodes x 1 gpu\njob a gpus 1 work 1 gpu-hours at 0\n")
        status, words = command("simulate", "--svg", pipe, story)
        assert status != 0 and str(pipe) in words, (status, words)
        status, words = command("simulate", "--svg", "/dev/null", story)
        assert status == 0, (status, words)


def shim_whose_log_became_a_pipe_still_ends_what_another_left():
    with Rig() as rig:
        rig.start()
        job = rig.loop()
        rig.wait_line("log", "size 1")
        log = rig.state / f"jobs/{job}/1/shim.log"
        log.unlink()
        os.mkfifo(log)
        os.kill(rig.shim(job), signal.SIGKILL)
        rig.wait(job, "queued")  # it is tried again later
        until("nothing is left", lambda: not rig.processes())
        rig.act(job, "cancel")
        rig.check_books()


def checkpoint_that_is_a_pipe_is_stepped_over():
    with Rig() as rig:
        rig.start()
        save = rig.top / "save"
        save.mkdir()
        os.mkfifo(save / "ckpt-0000000001.manifest")
        job = rig.submit([TRAINER, "--dataset", 512, "--samples", 512, "--step-us", 1000,
                          "--checkpoints", save], "train", level="elastic", batch_min=16,
                         batch_max=16, batch_base=16, gpu_batch=16, samples_total=512)
        rig.wait(job, "done")
        rig.check_books()


run([replay_of_a_pipe_is_refused,
     state_with_a_pipe_for_a_file_is_refused_by_name,
     calibration_that_is_a_pipe_is_left_alone,
     scenario_that_is_a_pipe_is_refused_and_so_is_a_picture_that_nobody_reads,
     shim_whose_log_became_a_pipe_still_ends_what_another_left,
     checkpoint_that_is_a_pipe_is_stepped_over])
