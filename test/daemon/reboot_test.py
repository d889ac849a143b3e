#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""reboot_test.py - the machine was restarted: no old pid means anything, and jobs return once.

A reboot is played: everything of the state is killed at once, the kernel's boot id is
another one (other_world.c), run-time directories are empty, and other programs have got
the numbers that the shims had."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
from rig import BUILD, TRAINER, Rig, run, until

BATCH, SAVE_EVERY = 16, 5  # samples; steps
BOOTS = ("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222")


def boot(rig, number):
    """The environment of the nth boot."""
    (rig.top / "boot").write_text(BOOTS[number] + "\n")
    rig.env |= {"LD_PRELOAD": str(BUILD / "test/daemon/other_world.so"),
                "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0",
                "ELASTANE_TEST_BOOT": str(rig.top / "boot")}
    return rig


def reboot(rig, jobs):
    """Ends all there is at once. Returns bystanders that have the pids of the shims now."""
    left = [pid for pid, _ in rig.processes()]
    for pid in left:
        os.kill(pid, signal.SIGSTOP)  # so that none can note the end of another
    rig.kill()
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    until("nothing runs", lambda: not rig.processes())
    others = []
    for job in jobs:
        other = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        ticks = pathlib.Path(f"/proc/{other.pid}/stat").read_text().rsplit(")", 1)[1].split()[19]
        path = rig.state / f"jobs/{job}/1/started.json"
        note = json.loads(path.read_text())
        assert note["boot_id"] == BOOTS[0], note
        note |= {"shim_pid": other.pid, "shim_start_ticks": int(ticks)}
        path.write_text(json.dumps(note))
        others.append(other)
    boot(rig, 1)
    return others


def end_others(others):
    alive = [other.poll() is None for other in others]
    for other in others:
        other.kill()
        other.wait()
    assert all(alive), f"bystanders were killed: {alive}"


def train(rig, save):
    save.mkdir()
    return rig.submit([TRAINER, "--dataset", 4096, "--samples", 4096, "--step-us", 10000,
                       "--save-every", SAVE_EVERY, "--checkpoints", save, "--ids", save], "train",
                      level="elastic", batch_min=BATCH, batch_max=BATCH, batch_base=BATCH,
                      gpu_batch=BATCH, samples_total=4096, sizes={"min": 1, "max": 1})


def rank_log(rig, job, incarnation):
    path = rig.state / f"jobs/{job}/{incarnation}/rank-0.log"
    return path.read_text().splitlines() if path.exists() else []


def samples_of(lines, word):
    return [int(line.split()[1]) for line in lines if line.startswith(f"{word} ")]


def starts(rig, job):
    return sorted(int(p.name) for p in (rig.state / f"jobs/{job}").iterdir()
                  if p.name.isdigit())


def assert_resumed(rig, job, saved):
    """From the last save that its first start told of, or from one that it had made when it
    was killed and not yet told of."""
    seen = samples_of(rank_log(rig, job, 2), "resume")
    assert seen in ([saved], [saved + SAVE_EVERY * BATCH]), (seen, saved)


def jobs_return_from_their_checkpoints_exactly_once():
    with Rig(devices=3) as rig:
        boot(rig, 0).start()
        elastic = train(rig, rig.top / "save")
        restartable = rig.loop()
        waiting = rig.submit("await never", "big", sizes={"min": 3, "max": 3})
        rig.act(waiting, "pause")
        until("it has saved twice",
              lambda: len(samples_of(rank_log(rig, elastic, 1), "saved")) >= 2)
        rig.wait_line("log", "size 1")
        others = reboot(rig, [elastic, restartable])
        try:
            saved = samples_of(rank_log(rig, elastic, 1), "saved")[-1]
            rig.start()
            for job in (elastic, restartable):
                rig.wait(job, "running", incarnation=2, is_unconfirmed=False)
            until("it has resumed", lambda: samples_of(rank_log(rig, elastic, 2), "resume"))
            assert_resumed(rig, elastic, saved)
            until("the other runs again", lambda: rig.lines("log") == ["size 1"] * 2)
            assert rig.job(waiting)["state"] == "paused"
            rig.kill()
            rig.start()  # within this boot: they are adopted
            for job in (elastic, restartable):
                rig.wait(job, "running", incarnation=2, is_unconfirmed=False)
            rig.touch("go")
            rig.wait(restartable, "done", incarnation=2)
            rig.wait(elastic, "done", incarnation=2)
            assert starts(rig, elastic) == starts(rig, restartable) == [1, 2]
            rig.act(waiting, "cancel")
        finally:
            end_others(others)
        rig.check_books()


def jobs_return_when_their_sockets_went_with_the_boot():
    with Rig() as rig:
        rig.env = {"ELASTANE_TEST_NETWORK": str(rig.state), "XDG_RUNTIME_DIR": str(rig.top)}
        boot(rig, 0).start()
        job = train(rig, rig.top / "save")
        until("it has saved", lambda: samples_of(rank_log(rig, job, 1), "saved"))
        there = pathlib.Path((rig.state / "run").read_text().strip())
        others = reboot(rig, [job])
        try:
            shutil.rmtree(there)
            saved = samples_of(rank_log(rig, job, 1), "saved")[-1]
            rig.start()
            rig.wait(job, "done", incarnation=2)
            assert_resumed(rig, job, saved)
        finally:
            end_others(others)
        rig.check_books()


def end_that_was_written_before_the_boot_is_not_run_again():
    with Rig() as rig:
        boot(rig, 0).start()
        job = rig.loop()
        rig.wait_line("log", "size 1")
        rig.kill()
        rig.touch("go")
        until("its end is written", lambda: (rig.state / f"jobs/{job}/1/exit.json").exists())
        for pid, _ in rig.processes():
            os.kill(pid, signal.SIGKILL)
        boot(rig, 1).start()
        rig.wait(job, "done", incarnation=1)
        assert rig.lines("log") == ["size 1", "end"]
        rig.check_books()


run([jobs_return_from_their_checkpoints_exactly_once,
     jobs_return_when_their_sockets_went_with_the_boot,
     end_that_was_written_before_the_boot_is_not_run_again])
