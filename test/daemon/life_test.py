#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""life_test.py - jobs from submit to their end, through the real daemon and real shims."""

import os
import sys

sys.dont_write_bytecode = True
from rig import FINAL, Rig, TRAINER, run, until

# One micro-batch of 16 takes 8 ms; communication is nearly free.
MODEL = {"proc": [{"micro_batch": 1, "time_ns": 7000000}, {"micro_batch": 16, "time_ns": 8000000}],
         "comm": [{"size": 2, "time_ns": 100000}, {"size": 4, "time_ns": 100000}]}


def submit_runs_a_command_to_its_end():
    with Rig() as rig:
        rig.start()
        job = rig.submit("echo out $RANK of $WORLD_SIZE; echo err >&2; echo $PWD")
        seen = rig.wait(job, "done")
        assert seen["exit_code"] == 0 and seen["cause"] == "done", seen
        assert [m["state"] for m in seen["history"]] == \
            ["queued", "starting", "running", "stopping", "done"], seen["history"]
        log = rig.ask("GET", f"/v1/jobs/{job}/logs")
        assert log.body == f"out 0 of 1\nerr\n{rig.top}\n".encode(), log
        rig.check_books()


def jobs_beyond_the_devices_wait_in_the_queue():
    with Rig(devices=1) as rig:
        rig.start()
        first = rig.submit("await go", "first")
        rig.wait(first, "running")
        second = rig.submit("true", "second")
        third = rig.submit("true", "third")
        seen = rig.wait(second, "queued", queue_place=1)
        assert rig.job(third)["queue_place"] == 2
        rig.touch("go")
        for job in (first, second, third):
            seen = rig.wait(job, "done")
        assert seen["start_us"] > rig.job(first)["end_us"] > 0, seen
        rig.check_books()


def restartable_job_shrinks_and_grows_as_another_comes_and_goes():
    with Rig() as rig:
        rig.start()
        wide = rig.loop("wide", sizes={"listed": [2, 4]})
        rig.wait(wide, "running", size=4)
        until("four ranks", lambda: len(rig.lines("log")) == 4)
        other = rig.submit("await other", "other",
                           sizes={"min": 2, "max": 2})
        rig.wait(other, "running")
        rig.wait(wide, "running", size=2)
        until("two ranks", lambda: rig.lines("log").count("size 2") == 2)
        rig.touch("other")
        rig.wait(other, "done")
        rig.wait(wide, "running", size=4)
        until("four ranks", lambda: rig.lines("log").count("size 4") == 8)
        rig.touch("go")
        seen = rig.wait(wide, "done")
        assert seen["resizes"] == 2 and seen["samples_repeated"] == 0, seen
        sizes = [line for line in rig.lines("log") if line.startswith("size")]
        assert sorted(sizes) == ["size 2"] * 2 + ["size 4"] * 8, sizes
        rig.check_books()


def elastic_trainer_changes_size_and_batch_and_loses_no_sample():
    with Rig() as rig:
        rig.start()
        job = rig.submit([TRAINER, "--dataset", 2048, "--samples", 8192, "--step-us", 8000,
                         "--checkpoints", rig.top / "save"], "train", level="elastic",
                         sizes={"min": 1, "max": 4}, batch_min=16, batch_max=64,
                         batch_base=16, gpu_batch=16, samples_total=8192,
                         lr_rule="linear", model=MODEL)
        rig.wait(job, "running")
        until("samples are told", lambda: rig.job(job)["samples_done"] > 0)
        other = rig.submit("await other", "other",
                           sizes={"min": 2, "max": 2})
        rig.wait(other, "running")
        rig.touch("other")
        seen = rig.wait(job, "done")
        assert seen["samples_done"] == 8192, seen
        assert seen["samples_repeated"] == 0, seen
        rig.wait(other, "done")
        rig.check_books()


def cancel_ends_a_running_job_and_may_be_repeated():
    with Rig() as rig:
        rig.start()
        job = rig.submit("trap 'await leave; echo stop >>log; exit 0' TERM\n"
                         "echo size 1 >>log; await go", level="restartable",
                         grace_us=60_000_000)
        rig.wait_line("log", "size 1")
        assert rig.act(job, "cancel")["state"] == "stopping"
        assert rig.act(job, "cancel")["state"] == "stopping"
        rig.touch("leave")
        seen = rig.wait(job, "cancelled")
        assert rig.lines("log") == ["size 1", "stop"], rig.lines("log")
        again = rig.ask("POST", f"/v1/jobs/{job}/cancel")
        assert again.status == 409 and again.json["code"] == "state", again
        assert rig.ask("POST", "/v1/jobs/99/cancel").status == 404
        rig.check_books()


def cancel_takes_a_waiting_job_out_of_the_queue():
    with Rig(devices=1) as rig:
        rig.start()
        first = rig.submit("await go")
        rig.wait(first, "running")
        second = rig.submit("echo ran >>log")
        assert rig.act(second, "cancel")["state"] == "cancelled"
        rig.wait(second, "cancelled")
        rig.touch("go")
        rig.wait(first, "done")
        assert rig.lines("log") == []
        rig.check_books()


def stubborn_job_is_killed_after_its_grace():
    with Rig() as rig:
        rig.start()
        job = rig.loop(grace_us=200_000, env={"DEAF": "1"})
        rig.wait_line("log", "size 1")
        rig.act(job, "cancel")
        seen = rig.wait(job, "cancelled")
        assert seen["cause"] == "killed", seen
        rig.check_books()


def pause_gives_the_devices_back_and_resume_goes_on():
    with Rig() as rig:
        rig.start()
        job = rig.loop()
        rig.wait_line("log", "size 1")
        rig.act(job, "pause")
        rig.wait(job, "paused", size=0)
        assert rig.get("/v1/nodes")["nodes"][0]["free"] == 4
        rig.act(job, "pause")
        rig.act(job, "resume")
        rig.wait(job, "running")
        rig.touch("go")
        seen = rig.wait(job, "done")
        assert seen["incarnation"] == 2, seen
        assert rig.ask("POST", f"/v1/jobs/{job}/resume").status == 409
        rig.check_books()


def update_changes_the_sizes_of_a_live_job():
    with Rig() as rig:
        rig.start()
        job = rig.loop()
        rig.wait(job, "running", size=1)
        answer = rig.ask("PATCH", f"/v1/jobs/{job}", {"sizes": {"min": 2, "max": 2}})
        assert answer.status == 200 and answer.json["id"] == job, answer
        rig.wait(job, "running", size=2)
        refused = rig.ask("PATCH", f"/v1/jobs/{job}", {"level": "rigid"})
        assert refused.status == 400 and refused.json["code"] == "invalid", refused
        rig.touch("go")
        rig.wait(job, "done")
        rig.check_books()


def history_ends_with_the_state_that_is_told():
    """State from memory and history from the disk, as well as end and history, agree at any
    moment; so jobs are looked at as often as possible while they live and end."""
    with Rig() as rig:
        rig.start()
        states = set()
        for _ in range(12):
            job = rig.submit(["true"])
            seen = {"state": "queued"}
            while seen["state"] not in FINAL:
                seen = rig.job(job)
                states.add(seen["state"])
                assert seen["history"] and seen["history"][-1]["state"] == seen["state"], seen
            assert [m["state"] for m in seen["history"]] == \
                ["queued", "starting", "running", "stopping", "done"], seen["history"]
        assert "done" in states and len(states) > 1, states
        rig.check_books()


def failing_command_is_failed_with_its_status():
    with Rig() as rig:
        rig.start()
        job = rig.submit("echo no; exit 3")
        seen = rig.wait(job, "failed")
        assert seen["exit_code"] == 3 and seen["cause"] == "user-error", seen
        rig.check_books()


def missing_and_unreadable_commands_fail_with_the_reason():
    with Rig() as rig:
        rig.start()
        (rig.top / "secret").write_text("#!/bin/sh\n")
        (rig.top / "secret").chmod(0o600)
        missing = rig.submit([rig.top / "absent"])
        secret = rig.submit([rig.top / "secret"])
        nowhere = rig.body("true")
        nowhere["launch"]["cwd"] = str(rig.top / "nowhere")
        nowhere = rig.ask("POST", "/v1/jobs", nowhere).json["id"]
        for job, status, word in ((missing, 127, "absent"), (secret, 126, "ermission"),
                                  (nowhere, None, "nowhere")):
            seen = rig.wait(job, "failed")
            assert seen["cause"] == "start-failed", seen
            assert status is None or seen["exit_code"] == status, seen
            assert word in seen["reason"], seen
        rig.check_books()


def reason_keeps_its_cause_however_long_the_path_is():
    with Rig() as rig:
        rig.start()
        path = str(rig.top / ("deep/" * 700)) + "trainer"
        seen = rig.wait(rig.submit([path]), "failed")
        assert "No such file or directory" in seen["reason"], seen["reason"]
        assert str(rig.top)[:5] in seen["reason"] and "..." in seen["reason"], seen["reason"]
        wrong = rig.body("true")
        wrong["launch"]["cwd"] = path
        job = rig.ask("POST", "/v1/jobs", wrong)
        assert job.status == 201, job
        seen = rig.wait(job.json["id"], "failed")
        assert "No such file or directory" in seen["reason"], seen["reason"]


def log_that_is_a_pipe_is_refused_and_blocks_nobody():
    with Rig() as rig:
        rig.start()
        os.mkfifo(rig.top / "rank-0.log")
        body = rig.body("true")
        body["launch"]["log_dir"] = str(rig.top)
        job = rig.ask("POST", "/v1/jobs", body).json["id"]
        seen = rig.wait(job, "failed")
        assert seen["cause"] == "start-failed" and "rank-0.log" in seen["reason"], seen
        rig.check_books()


def retries_are_used_up_before_a_job_fails():
    with Rig() as rig:
        rig.start()
        job = rig.submit("echo try >>log; kill -9 $$", retries=0)
        seen = rig.wait(job, "failed")
        assert seen["cause"] == "killed" and seen["exit_code"] == 137, seen
        assert rig.lines("log") == ["try"]
        rig.check_books()


def time_limit_ends_a_job():
    with Rig() as rig:
        rig.start()
        job = rig.loop(time_limit_us=100_000)
        seen = rig.wait(job, "failed")
        assert seen["cause"] == "time-limit", seen
        rig.check_books()


# R03: two jobs, and two generations of one, never fight for a port.
def r03_jobs_side_by_side_have_ports_of_their_own():
    with Rig() as rig:
        rig.start()
        show = "echo $MASTER_PORT >>log; await go"
        jobs = [rig.submit(show, f"j{i}") for i in range(4)]
        until("four ports", lambda: len(rig.lines("log")) == 4)
        assert len(set(rig.lines("log"))) == 4, rig.lines("log")
        rig.touch("go")
        for job in jobs:
            rig.wait(job, "done")
        rig.check_books()


# R05: the trainer runs below a shell that is no help; the notice reaches it all the same.
def r05_notice_reaches_a_trainer_below_a_shell():
    with Rig() as rig:
        rig.start()
        job = rig.submit("./loop; echo shell $? >>log", level="restartable")
        rig.wait_line("log", "size 1")
        rig.act(job, "pause")
        rig.wait(job, "paused")
        assert "stop" in rig.lines("log"), rig.lines("log")
        rig.touch("go")
        rig.act(job, "resume")
        rig.wait(job, "done")
        rig.check_books()


# R11: the new owner starts only when the old one has really gone.
def r11_devices_change_hands_after_the_exit():
    with Rig() as rig:
        rig.start()
        job = rig.loop("old", env={"SLOW": "0.7"}, sizes={"listed": [2, 4]})
        rig.wait(job, "running", size=4)
        until("four ranks", lambda: len(rig.lines("log")) == 4)
        new = rig.submit("echo new >>log", "new", sizes={"min": 2, "max": 2})
        rig.wait(new, "done")
        log = rig.lines("log")
        assert log.index("new") > max(i for i, line in enumerate(log[:8]) if line == "stop")
        assert log[4:8] == ["stop"] * 4, log
        rig.touch("go")
        rig.wait(job, "done")
        rig.check_books()


# R13: what lives on after success is ended; the job is done once.
def r13_process_that_lives_on_is_reaped_and_the_job_done_once():
    with Rig() as rig:
        rig.start()
        job = rig.submit("(trap '' TERM; await nothing) & echo up >>log",
                         grace_us=300_000)
        rig.wait(job, "done")
        rig.check_books()


run([submit_runs_a_command_to_its_end,
     jobs_beyond_the_devices_wait_in_the_queue,
     restartable_job_shrinks_and_grows_as_another_comes_and_goes,
     elastic_trainer_changes_size_and_batch_and_loses_no_sample,
     cancel_ends_a_running_job_and_may_be_repeated,
     cancel_takes_a_waiting_job_out_of_the_queue,
     stubborn_job_is_killed_after_its_grace,
     pause_gives_the_devices_back_and_resume_goes_on,
     update_changes_the_sizes_of_a_live_job,
     history_ends_with_the_state_that_is_told,
     failing_command_is_failed_with_its_status,
     missing_and_unreadable_commands_fail_with_the_reason,
     reason_keeps_its_cause_however_long_the_path_is,
     log_that_is_a_pipe_is_refused_and_blocks_nobody,
     retries_are_used_up_before_a_job_fails,
     time_limit_ends_a_job,
     r03_jobs_side_by_side_have_ports_of_their_own,
     r05_notice_reaches_a_trainer_below_a_shell,
     r11_devices_change_hands_after_the_exit,
     r13_process_that_lives_on_is_reaped_and_the_job_done_once])
