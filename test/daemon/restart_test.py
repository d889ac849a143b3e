#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""restart_test.py - daemons come and go, jobs train on (R09)."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys

sys.dont_write_bytecode = True
from rig import BUILD, DAEMON, PATIENCE, Rig, run, until


def until_same(rig, before):
    """A daemon that looks around calls programs that are gone in a moment; others would stay."""
    until("the processes of before", lambda: rig.processes() == before)


def r09_killed_daemon_finds_its_jobs_running():
    with Rig() as rig:
        rig.start()
        job = rig.loop(sizes={"min": 2, "max": 2})
        # The shim and both ranks, each what it will be until its end.
        until("both ranks are there", lambda: rig.lines("log") == ["size 2"] * 2)
        until("nobody else is", lambda: len(rig.processes()) == 3)
        before = rig.processes()
        rig.kill()
        assert rig.processes() == before
        rig.start()
        seen = rig.wait(job, "running", is_unconfirmed=False)
        assert seen["incarnation"] == 1, seen
        until_same(rig, before)
        rig.touch("go")
        seen = rig.wait(job, "done")
        assert rig.lines("log") == ["size 2"] * 2 + ["end"] * 2
        rig.check_books()


def r09_wait_and_logs_outlive_a_killed_daemon():
    with Rig() as rig:
        rig.start()
        at = f"/proc/{rig.process.pid}/fd"

        def sockets():
            links = [os.readlink(f"{at}/{fd}") for fd in os.listdir(at)
                     if os.path.islink(f"{at}/{fd}")]
            return {link for link in links if link.startswith("socket:")}

        seen = []

        def both_poll():  # the same two connections, again and again
            seen.append(sockets() - idle)
            return len(seen) > 5 and len(seen[-1]) >= 2 and all(s == seen[-1] for s in seen[-5:])
        job = rig.submit("echo one; await go; echo two; exit 3", "talker")
        until("it has spoken", lambda: rig.ask("GET", f"/v1/jobs/{job}/logs").body == b"one\n")
        idle = sockets()
        watchers = {words: subprocess.Popen(
            [BUILD / "src/prog/elastane", *words, str(job)], stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, env={"ELASTANE_SOCKET": rig.socket})
            for words in (("wait",), ("logs", "-f"))}
        until("both hold a long poll", both_poll)
        rig.kill()
        rig.touch("go")
        rig.start()
        seen = {words: (*w.communicate(timeout=PATIENCE), w.returncode)
                for words, w in watchers.items()}
        for out, err, code in seen.values():
            assert err.count(b"waiting up to 60 s for it to come back") == 1, (out, err, code)
        assert seen["wait",][2] == 10 and b"talker: failed" in seen["wait",][0], seen
        assert seen["logs", "-f"][::2] == (b"one\ntwo\n", 0), seen


def r09_job_that_ended_without_a_daemon_is_done_once():
    with Rig() as rig:
        rig.start()
        job = rig.loop()
        rig.wait_line("log", "size 1")
        rig.kill()
        rig.touch("go")
        rig.wait_line("log", "end")
        rig.start()
        rig.wait(job, "done")
        rig.kill()
        rig.start()
        assert rig.job(job)["state"] == "done"
        rig.check_books()


def r09_shim_that_left_is_read_from_the_disk():
    with Rig() as rig:
        rig.start()
        job = rig.loop()
        rig.wait_line("log", "size 1")
        rig.kill()
        rig.touch("go")
        record = rig.state / f"jobs/{job}/1/exit.json"
        until("the end is written", record.exists)
        for pid, _ in rig.processes():  # the shim, which waits for a daemon
            os.kill(pid, signal.SIGKILL)
        rig.start()
        seen = rig.wait(job, "done")
        assert seen["cause"] == "done", seen
        rig.check_books()


def r09_shim_that_died_with_the_daemon_costs_its_job_one_restart():
    with Rig() as rig:
        rig.start()
        job = rig.loop()
        rig.wait_line("log", "size 1")
        rig.kill()
        os.kill(rig.shim(job), signal.SIGKILL)
        rig.start()
        until("it runs again", lambda: rig.lines("log").count("size 1") == 2)
        seen = rig.wait(job, "running", incarnation=2)
        assert len([w for _, w in rig.processes() if b"perl" in w]) == 1, rig.processes()
        rig.touch("go")
        seen = rig.wait(job, "done")
        rig.check_books()


def shim_that_dies_under_a_living_daemon_is_noticed():
    with Rig() as rig:
        rig.start()
        job = rig.loop()
        rig.wait_line("log", "size 1")
        os.kill(rig.shim(job), signal.SIGKILL)
        until("it runs again", lambda: rig.lines("log").count("size 1") == 2)
        rig.wait(job, "running", incarnation=2)
        rig.touch("go")
        rig.wait(job, "done")
        rig.check_books()


def descriptors(pid):
    """What its open descriptors lead to; one that closes meanwhile leads nowhere."""
    there = pathlib.Path(f"/proc/{pid}/fd")
    found = set()
    for fd in os.listdir(there):
        try:
            found.add(os.readlink(there / fd))
        except FileNotFoundError:
            pass
    return found


def shims_inherit_no_descriptor_of_the_daemon():
    with Rig() as rig:
        rig.start()
        job = rig.loop()
        rig.wait(job, "running")
        rig.get(f"/v1/jobs/{job}/wait?timeout_s=0")
        own = descriptors(rig.process.pid)
        for pid, _ in rig.processes():
            shared = {link for link in descriptors(pid) & own if link != "/dev/null"}
            assert not shared, f"pid {pid} has {shared}"
        rig.touch("go")
        rig.wait(job, "done")


def clean_stop_leaves_jobs_running_and_the_next_start_adopts_them():
    with Rig() as rig:
        rig.start()
        job = rig.loop()
        rig.wait_line("log", "size 1")
        waiting = rig.submit("true", "waiting", sizes={"min": 4, "max": 4})
        rig.wait(waiting, "queued")
        before = rig.processes()
        rig.stop()
        assert rig.processes() == before
        assert not os.path.exists(rig.socket)
        rig.start()
        rig.wait(job, "running", is_unconfirmed=False)
        rig.wait(waiting, "queued")
        rig.touch("go")
        rig.wait(job, "done")
        rig.wait(waiting, "done")
        rig.check_books()


def second_daemon_on_a_state_is_refused_and_told_who_holds_it():
    with Rig() as rig:
        rig.start()
        second = subprocess.run(
            [DAEMON, "--state", rig.state, "--socket", rig.top / "other", *rig.options],
            capture_output=True, timeout=PATIENCE, check=False)
        assert second.returncode == 1, second
        assert str(rig.process.pid).encode() in second.stderr, second.stderr
        assert not (rig.top / "other").exists()
        assert rig.get("/v1/status")["pid"] == rig.process.pid


def second_daemon_on_a_socket_is_refused():
    with Rig() as rig:
        rig.start()
        second = subprocess.run(
            [DAEMON, "--state", rig.top / "second", "--socket", rig.socket, *rig.options],
            capture_output=True, timeout=PATIENCE, check=False)
        assert second.returncode == 1 and b"answers" in second.stderr, second
        assert rig.get("/v1/status")["pid"] == rig.process.pid


def socket_of_a_dead_daemon_is_replaced_and_other_files_are_not():
    with Rig() as rig:
        rig.start()
        rig.kill()
        assert os.path.exists(rig.socket)
        rig.start()
        rig.stop()
        with open(rig.socket, "w", encoding="ascii") as file:
            file.write("precious")
        refused = rig.launch()
        assert refused.wait(PATIENCE) == 1
        rig.process = None
        refused.stdout.close()
        assert "not a socket" in rig.log(), rig.log()
        with open(rig.socket, encoding="ascii") as file:
            assert file.read() == "precious"


def socket_of_another_user_is_left_alone():
    if os.geteuid() != 0:
        return "only root can make one"
    with Rig() as rig:
        rig.start()
        rig.kill()
        os.chown(rig.socket, 12345, 12345)
        refused = rig.launch()
        assert refused.wait(PATIENCE) == 1
        rig.process = None
        refused.stdout.close()
        assert "belongs to user 12345" in rig.log(), rig.log()
        assert os.path.exists(rig.socket)
        os.unlink(rig.socket)
    return None


def settings_stay_in_the_state_until_they_are_stated_again():
    with Rig() as rig:
        rig.start("--policy", "fifo", "--interval", "1s")
        assert rig.get("/v1/status")["policy"] == "fifo"
        rig.stop()
        rig.start()
        assert rig.get("/v1/status")["policy"] == "fifo"
        rig.stop()
        rig.start("--policy", "joint", "--admission", "skip", "--scaler", "none")
        seen = rig.get("/v1/status")
        assert (seen["policy"], seen["admission"], seen["scaler"]) == ("joint", "skip", "none")


def options_that_make_no_sense_are_refused_at_the_start():
    with Rig() as rig:
        for option, value, words in (("--pace", "fast", "pace is 'fast', where"),
                                     ("--pace", "20ms+0.4ms*k", "such as 20ms+0.4ms*m"),
                                     ("--pace", "", "pace is ''"),
                                     ("--policy", "best", "policy"),
                                     ("--min-run", "soon", "min-run"),
                                     ("--shim", "/", "shim / is no program"),
                                     ("--devices", "-1", "devices")):
            refused = rig.launch(option, value)
            assert refused.wait(PATIENCE) in (1, 2), (option, value)
            rig.process = None
            refused.stdout.close()
            last = rig.log().splitlines()[-1]
            assert words in last, (option, value, last)
        deep = rig.top / ("deep/" * 700) / "state"
        refused = rig.launch("--state", deep)
        assert refused.wait(PATIENCE) == 1
        rig.process = None
        refused.stdout.close()
        assert "No such file or directory" in rig.log().splitlines()[-1], rig.log()


def node_with_another_count_is_refused_and_a_new_name_is_not():
    with Rig() as rig:
        rig.start()
        rig.stop()
        refused = rig.launch("--devices", "2")
        assert refused.wait(PATIENCE) == 1
        rig.process = None
        refused.stdout.close()
        assert "--node-name" in rig.log(), rig.log()
        rig.start("--devices", "2", "--node-name", "n2")
        nodes = {n["name"]: n for n in until(
            "n2 is up", lambda: [n for n in rig.get("/v1/nodes")["nodes"] if n["name"] == "n2"]
            and rig.get("/v1/nodes")["nodes"])}
        assert nodes["n1"]["state"] == "lost" and nodes["n1"]["gone"] == 4, nodes
        assert nodes["n2"]["state"] == "up" and nodes["n2"]["free"] == 2, nodes
        rig.wait(rig.submit("true"), "done")


# R09, R11: a frozen shim cannot answer, but its lock says that its devices are in use.
def r09_frozen_shim_is_confirmed_by_its_lock():
    with Rig() as rig:
        rig.start()
        job = rig.loop()
        rig.wait_line("log", "size 1")
        shim = rig.shim(job)
        os.kill(shim, signal.SIGSTOP)
        try:
            rig.kill()
            rig.start()
            rig.wait(job, "running", is_unconfirmed=False, incarnation=1)
        finally:
            os.kill(shim, signal.SIGCONT)
        rig.touch("go")
        rig.wait(job, "done", incarnation=1)
        rig.check_books()


# A job may do in its folder as it likes. What it breaks there must cost nobody else devices.
def unreadable_end_of_a_dead_shim_costs_one_restart():
    def empty(path):
        path.write_text("")

    def damaged(path):
        path.write_text('{"format": 1, "job": "one"')

    def another(path):
        path.write_text("{}")

    def long(path):
        path.write_bytes(b"x" * 4_000_000)

    def link(path):
        path.symlink_to("/etc/passwd")

    def pipe(path):
        os.mkfifo(path)

    def directory(path):
        path.mkdir()
        (path / "full").touch()

    ways = (empty, damaged, another, long, link, pipe, directory)
    with Rig(devices=len(ways)) as rig:
        rig.start()
        jobs = [rig.loop(spoil.__name__) for spoil in ways]
        until("all run", lambda: rig.lines("log") == ["size 1"] * len(ways))
        rig.kill()
        for job, spoil in zip(jobs, ways):
            spoil(rig.state / f"jobs/{job}/1/exit.json")
            if job % 2:  # the others lose their shim under a daemon that lives
                os.kill(rig.shim(job), signal.SIGKILL)
        rig.start()
        for job in jobs:
            if job % 2 == 0:
                rig.wait(job, "running", is_unconfirmed=False)
                os.kill(rig.shim(job), signal.SIGKILL)
        for job in jobs:
            rig.wait(job, "running", incarnation=2)
        assert len([w for _, w in rig.processes() if b"perl" in w]) == len(ways), rig.processes()
        rig.touch("go")
        for job in jobs:
            rig.wait(job, "done")
        rig.check_books()


def job_that_spoils_its_folder_is_adopted_and_not_started_twice():
    def without_lock(folder):
        (folder / "lock").unlink()

    def with_another_lock(folder):
        (folder / "lock").unlink()
        (folder / "lock").touch()

    def with_a_directory_for_a_lock(folder):
        (folder / "lock").unlink()
        (folder / "lock").mkdir()

    def with_nothing_in_it(folder):
        for path in folder.iterdir():
            path.unlink()

    def without_folder(folder):
        shutil.rmtree(folder)

    def unreadable(folder):
        folder.chmod(0)

    for ruin in (without_lock, with_another_lock, with_a_directory_for_a_lock,
                 with_nothing_in_it, without_folder, unreadable):
        with Rig() as rig:
            rig.start()
            job = rig.loop()
            rig.wait_line("log", "size 1")
            rig.wait(job, "running")
            shim = rig.shim(job)
            rig.kill()
            ruin(rig.state / f"jobs/{job}/1")
            rig.start()
            rig.wait(job, "running", is_unconfirmed=False, incarnation=1)
            ranks = [pid for pid, words in rig.processes() if b"perl" in words]
            assert len(ranks) == 1 and shim in [pid for pid, _ in rig.processes()], (ruin, ranks)
            rig.touch("go")
            rig.wait(job, "done", incarnation=1)
            rig.check_books()


def journal_older_than_the_folders_of_its_jobs_is_refused():
    with Rig() as rig:
        rig.start()
        rig.wait(rig.submit("exit 3"), "failed")
        rig.stop()
        for path in rig.state.glob("state.db*"):
            path.unlink()
        assert rig.launch().wait(PATIENCE) == 1
        rig.process.stdout.close()
        rig.process = None
        assert "jobs/1 exists" in rig.log(), rig.log()
        (rig.state / "jobs").rename(rig.top / "old jobs")
        rig.start()
        rig.wait(rig.submit("true"), "done")


def state_of_a_new_user_is_made_with_all_above_it():
    with Rig() as rig:
        home = rig.top / "home"
        home.mkdir()
        user = {}
        if os.geteuid() == 0:  # whose state is elsewhere
            rig.top.chmod(0o755)
            os.chown(home, 65534, 65534)
            user = {"user": 65534, "group": 65534, "extra_groups": []}
        try:
            daemon = subprocess.Popen([DAEMON, "--socket", home / "s", "--devices", "1"], cwd="/",
                                      stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                      env={"HOME": str(home)}, **user)
        except PermissionError:
            return "another user may not read the build"
        line = daemon.stdout.readline()
        daemon.terminate()
        daemon.stdout.close()
        assert daemon.wait(PATIENCE) == 0 and line.startswith(b"ready"), line
        assert (home / ".local/state/elastane/state.db").exists()
        assert (home / ".local/state").stat().st_mode & 0o777 == 0o700


def state_of_another_user_is_refused():
    if os.geteuid() != 0:
        return "needs root"
    with Rig() as rig:
        rig.state.mkdir(mode=0o700)
        os.chown(rig.state, 65534, 65534)
        assert rig.launch().wait(PATIENCE) == 1
        rig.process.stdout.close()
        rig.process = None
        assert "belongs to user 65534" in rig.log(), rig.log()
    return None


def shim_of_a_finished_job_is_told_to_leave():
    with Rig() as rig:
        rig.start()
        job = rig.loop()
        rig.wait_line("log", "size 1")
        rig.kill()
        rig.start("--node-name", "n2")  # the old node is lost: the job starts anew
        until("the new one runs", lambda: rig.lines("log").count("size 1") == 2)
        until("the old one is gone",
              lambda: len([w for _, w in rig.processes() if b"perl" in w]) == 1)
        rig.touch("go")
        rig.wait(job, "done")
        rig.check_books()


run([r09_killed_daemon_finds_its_jobs_running,
     r09_wait_and_logs_outlive_a_killed_daemon,
     r09_job_that_ended_without_a_daemon_is_done_once,
     r09_shim_that_left_is_read_from_the_disk,
     r09_shim_that_died_with_the_daemon_costs_its_job_one_restart,
     shim_that_dies_under_a_living_daemon_is_noticed,
     shims_inherit_no_descriptor_of_the_daemon,
     clean_stop_leaves_jobs_running_and_the_next_start_adopts_them,
     second_daemon_on_a_state_is_refused_and_told_who_holds_it,
     second_daemon_on_a_socket_is_refused,
     socket_of_a_dead_daemon_is_replaced_and_other_files_are_not,
     socket_of_another_user_is_left_alone,
     settings_stay_in_the_state_until_they_are_stated_again,
     options_that_make_no_sense_are_refused_at_the_start,
     node_with_another_count_is_refused_and_a_new_name_is_not,
     r09_frozen_shim_is_confirmed_by_its_lock,
     unreadable_end_of_a_dead_shim_costs_one_restart,
     job_that_spoils_its_folder_is_adopted_and_not_started_twice,
     journal_older_than_the_folders_of_its_jobs_is_refused,
     state_of_a_new_user_is_made_with_all_above_it,
     state_of_another_user_is_refused,
     shim_of_a_finished_job_is_told_to_leave])
