#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""trouble_test.py - the disk is full, or cannot be written; the daemon says so and goes on."""

import concurrent.futures
import os
import resource
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
from rig import BUILD, PATIENCE, TRAINER, Rig, run, until


def mount(path, size):
    """None, or why it cannot be."""
    if not shutil.which("mount"):
        return "no program mount"
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=0700", "tmpfs", path],
                          capture_output=True, check=False)
    return None if done.returncode == 0 else "no right to mount a file system"


def unmount(path):
    subprocess.run(["umount", "-l", path], check=False)


def refused(rig):
    answer = rig.ask("POST", "/v1/jobs", rig.body("true"))
    if answer.status == 201:
        return None
    return answer


def check_refusal_and_recovery(rig, make_room):
    """A job runs; nothing can be written; the job goes on; there is room again."""
    answer = until("a submit is refused", lambda: refused(rig))
    assert answer.status == 503, answer
    assert answer.json["code"] == "again" and answer.headers["Retry-After"], answer
    status = until("it says why", lambda: rig.get("/v1/status")["is_blocked"]
                   and rig.get("/v1/status"))
    assert status["blocked_reason"], status
    alive = len([w for _, w in rig.processes() if b"perl" in w])
    assert alive == 1, "the job must go on"
    make_room()
    until("it writes again", lambda: not rig.get("/v1/status")["is_blocked"])
    rig.wait(rig.submit("true"), "done")


def full_disk_refuses_submits_and_jobs_go_on():
    with Rig() as rig:
        rig.state.mkdir(mode=0o700)
        why = mount(rig.state, "16m")
        if why:
            return why
        try:
            rig.start()
            job = rig.loop()
            rig.wait_line("log", "size 1")
            ballast = rig.state / "ballast"
            with ballast.open("wb", buffering=0) as file:
                try:
                    while True:
                        file.write(b"x" * 4096)
                except OSError:
                    pass
            check_refusal_and_recovery(rig, ballast.unlink)
            rig.touch("go")
            rig.wait(job, "done")
            for other in rig.jobs():
                rig.wait(other["id"], "done")
            rig.check_books()
            rig.stop()
            until("the shims have left", lambda: not rig.processes())
        finally:
            if rig.process:
                rig.wipe()
            unmount(rig.state)
    return None


def file_that_may_not_grow_refuses_submits_and_jobs_go_on():
    with Rig() as rig:
        rig.start()
        job = rig.loop()
        rig.wait_line("log", "size 1")
        pid = rig.process.pid
        soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, hard))
        check_refusal_and_recovery(
            rig, lambda: resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard)))
        rig.touch("go")
        rig.wait(job, "done")
        for other in rig.jobs():
            rig.wait(other["id"], "done")
        rig.check_books()


def state_directory_that_is_moved_away_refuses_submits_until_it_is_back():
    with Rig() as rig:
        rig.start()
        job = rig.loop()
        rig.wait_line("log", "size 1")
        elsewhere = rig.top / "elsewhere"
        rig.state.rename(elsewhere)
        detail = until("a submit is refused", lambda: refused(rig)).json["detail"]
        assert str(rig.state) in detail and "gone" in detail, detail
        rig.state.mkdir(mode=0o700)  # another one in its place is no better
        check_refusal_and_recovery(
            rig, lambda: (rig.state.rmdir(), elsewhere.rename(rig.state)))
        rig.touch("go")
        rig.wait(job, "done")
        for other in rig.jobs():
            rig.wait(other["id"], "done")
        rig.check_books()


def state_directory_that_is_removed_refuses_submits_and_jobs_go_on():
    with Rig() as rig:
        rig.start()
        rig.loop()
        rig.wait_line("log", "size 1")
        shutil.rmtree(rig.state)
        first = rig.ask("POST", "/v1/jobs", rig.body("true"))
        assert first.status == 503, first  # not even one is taken
        answer = until("a submit is refused", lambda: refused(rig))
        assert str(rig.state) in answer.json["detail"], answer
        status = rig.get("/v1/status")
        assert status["is_blocked"] and str(rig.state) in status["blocked_reason"], status
        assert len([w for _, w in rig.processes() if b"perl" in w]) == 1, "the job must go on"
        rig.wipe()  # nothing is left that could take the job's end


def socket_of_the_shims_that_is_removed_is_made_anew():
    with Rig() as rig:
        rig.start()
        connected = rig.loop()
        rig.wait_line("log", "size 1")
        (rig.state / "shim.sock").unlink()
        rig.wait(rig.loop(), "running")
        assert "is made anew" in rig.log(), rig.log()
        assert rig.log().count("shim") == 1, "it is said once\n" + rig.log()
        rig.touch("go")
        rig.wait(connected, "done")
        for other in rig.jobs():
            rig.wait(other["id"], "done")
        rig.check_books()
        rig.stop()
        assert not (rig.state / "shim.sock").exists(), "the new one is the daemon's to remove"


def parts_of_the_state_that_are_removed_are_made_anew():
    with Rig() as rig:
        rig.start()
        job = rig.loop()
        rig.wait_line("log", "size 1")
        shutil.rmtree(rig.state / "jobs")
        shutil.rmtree(rig.state / "env")
        other = rig.submit("echo $SECRET >secret", env={"SECRET": "kept"})
        rig.wait(other, "done")
        assert (rig.top / "secret").read_text() == "kept\n"
        assert (rig.state / "env").stat().st_mode & 0o777 == 0o700
        assert (rig.state / "jobs").stat().st_mode & 0o777 == 0o700
        rig.touch("go")
        rig.wait(job, "done")
        rig.check_books()
        rig.kill()
        rig.start()
        assert rig.job(job)["state"] == "done"


def job_that_ends_while_nothing_can_be_written_is_done_once():
    with Rig() as rig:
        rig.start()
        job = rig.loop()
        rig.wait_line("log", "size 1")
        pid = rig.process.pid
        soft, hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (1, hard))
        rig.touch("go")
        rig.wait_line("log", "end")
        until("it is blocked", lambda: rig.get("/v1/status")["is_blocked"])
        # It has left the core and is not on the disk: nobody may say that there is no such job.
        for method, verb in (("GET", ""), ("GET", "/explain"), ("POST", "/cancel"), ("POST", "/pause")):
            answer = rig.ask(method, f"/v1/jobs/{job}{verb}")
            assert answer.status == 503 and answer.json["code"] == "again", (verb, answer)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))
        rig.wait(job, "done")
        rig.check_books()


def slow_disk(rig):
    return {"LD_PRELOAD": str(BUILD / "test/daemon/slow_sync.so"),
            "ELASTANE_TEST_SLOW": str(rig.top / "slow"),
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}


def commit_that_does_not_come_back_delays_no_answer_for_long():
    """What waits for it is told so, the rest is answered at once."""
    with Rig() as rig:
        rig.start(env=slow_disk(rig))
        ending, living = rig.loop("ending"), rig.submit("await later", "living")
        rig.wait(ending, "running")
        rig.wait(living, "running")
        rig.wait_line("log", "size 1")
        rig.touch("slow.fdatasync")
        rig.touch("go")
        rig.wait_line("log", "end")
        until("it has left the core", lambda: ending not in [j["id"] for j in rig.jobs("")])
        paths = [f"/v1/jobs/{ending}", "/v1/jobs?all=1", f"/v1/jobs/{ending}/wait",
                 f"/v1/jobs/{ending}/logs", f"/v1/jobs/{ending}/explain"]
        with concurrent.futures.ThreadPoolExecutor(len(paths)) as pool:
            answers = [pool.submit(rig.ask, "GET", path, timeout=20) for path in paths]
            assert rig.get("/v1/status", timeout=4)["is_blocked"] is False
            assert rig.get(f"/v1/jobs/{living}", timeout=4)["state"] == "running"
        for path, future in zip(paths, answers):
            answer = future.result()
            assert answer.status == 503 and answer.json["code"] == "again", (path, answer)
            assert "slow" in answer.json["detail"], (path, answer)
        (rig.top / "slow.fdatasync").unlink()
        rig.wait(ending, "done")
        rig.touch("later")
        rig.wait(living, "done")
        rig.check_books()


def loop_of_the_daemon_waits_for_no_disk():
    """Jobs start, end and are cancelled without an fsync in the thread that answers."""
    with Rig() as rig:
        rig.start(env=slow_disk(rig))
        rig.touch("slow.fsync")
        rig.wait(rig.submit("true"), "done")
        job = rig.loop()
        rig.wait_line("log", "size 1")
        rig.act(job, "cancel")
        rig.wait(job, "cancelled")
        assert rig.get("/v1/status", timeout=4)["is_blocked"] is False
        (rig.top / "slow.fsync").unlink()
        rig.check_books()


def stop_does_not_wait_for_a_disk_that_cannot_be_written():
    with Rig() as rig:
        rig.start()
        job = rig.loop()
        rig.wait_line("log", "size 1")
        resource.prlimit(rig.process.pid, resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
        until("a submit is refused", lambda: refused(rig))
        process, rig.process = rig.process, None
        process.terminate()
        process.wait(PATIENCE)
        process.stdout.close()
        rig.start()
        rig.touch("go")
        rig.wait(job, "done")
        for other in rig.jobs():
            rig.wait(other["id"], "done")
        rig.check_books()


def frozen_shim_is_waited_for():
    with Rig() as rig:
        rig.start()
        job = rig.loop()
        rig.wait_line("log", "size 1")
        shim = rig.shim(job)
        os.kill(shim, signal.SIGSTOP)
        try:
            rig.touch("go")
            rig.wait_line("log", "end")
            assert rig.job(job)["state"] == "running"
        finally:
            os.kill(shim, signal.SIGCONT)
        rig.wait(job, "done")
        rig.check_books()


def page_that_is_cut_short_harms_the_one_who_did_it_alone():
    """The shim looks at the page every second; the trainer, which maps it, dies of SIGBUS."""
    with Rig() as rig:
        rig.start()
        cut = ': >"$(dirname "$ELASTANE_CHANNEL")/page"'
        plain = rig.submit(f"shim=$PPID; {cut}\n"
                           "for i in 1 2 3 4 5 6; do sleep 0.5; kill -0 $shim || exit 9; done", "plain")
        trainer = rig.submit(f"{TRAINER} --samples 1000000 --step-us 8000 --checkpoints {rig.top}/save "
                             "--dataset 1000000 & trainer=$!\n"
                             f"await go; {cut}; wait $trainer",
                             "trainer", level="elastic", batch_min=16, batch_max=16,
                             batch_base=16, gpu_batch=16,
                             samples_total=1000000, env={"ASAN_OPTIONS": "handle_sigbus=0"})
        until("it trains", lambda: rig.job(trainer)["samples_done"] > 0)
        rig.touch("go")
        seen = rig.wait(trainer, "failed")
        # The sanitizer makes an exit of its own of the signal.
        assert seen["exit_code"] in (128 + signal.SIGBUS, 1) and seen["cause"] != "lost", seen
        rig.wait(plain, "done")
        rig.check_books()


def what_a_command_leaves_behind_is_told():
    with Rig(devices=1) as rig:
        rig.start()
        job = rig.submit("(trap '' TERM; setsid sleep 300) & exit 0", "leaves", grace_us=3_000_000)
        seen = until("a note", lambda: (s := rig.job(job))["note"] and s)
        assert "its command has ended" in seen["note"], seen
        assert seen["state"] == "running", seen
        rig.wait(job, "done")
        rig.check_books()


run([full_disk_refuses_submits_and_jobs_go_on,
     file_that_may_not_grow_refuses_submits_and_jobs_go_on,
     state_directory_that_is_moved_away_refuses_submits_until_it_is_back,
     state_directory_that_is_removed_refuses_submits_and_jobs_go_on,
     socket_of_the_shims_that_is_removed_is_made_anew,
     parts_of_the_state_that_are_removed_are_made_anew,
     job_that_ends_while_nothing_can_be_written_is_done_once,
     commit_that_does_not_come_back_delays_no_answer_for_long,
     loop_of_the_daemon_waits_for_no_disk,
     stop_does_not_wait_for_a_disk_that_cannot_be_written,
     frozen_shim_is_waited_for,
     what_a_command_leaves_behind_is_told,
     page_that_is_cut_short_harms_the_one_who_did_it_alone])
