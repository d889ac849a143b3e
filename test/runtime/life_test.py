#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The life of a shim: start, adoption, logs, environment, ports, the end of a job."""

import os
import pathlib
import signal
import socket
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import FORM, Daemon, Job, TRAINER, failure, run, wait_for  # noqa: E402


def a_job_runs_to_its_end_and_is_reported_once(root):
    daemon = Daemon(root)
    job = Job(root, daemon, [TRAINER, "--samples", 80], size=2)
    assert job.start() == "started", job.stderr
    hello = daemon.accept()
    assert hello["job"] == job.job and hello["size"] == 2, hello
    end = daemon.wait("exit")
    assert (end["cause"], end["exit_code"], end["rank"]) == ("done", 0, -1), end
    assert job.exit_record()["cause"] == "done"
    assert not job.processes()
    daemon.send("exit-ack")
    daemon.wait_end()
    job.wait_shim_gone()
    assert job.lines("done", 0) and job.lines("done", 1)


def a_repeated_start_is_harmless(root):
    daemon = Daemon(root)
    job = Job(root, daemon, [TRAINER, "--samples", 4000])
    assert job.start() == "started"
    assert job.start() == "already-running" and job.status == 0
    daemon.accept()
    daemon.wait("exit")
    daemon.send("exit-ack")
    job.wait_shim_gone()
    assert job.start() == "already-ended" and job.status == 0
    assert len(job.lines("plan")) == 1


def the_environment_contract_holds_under_a_shell(root):
    job = Job(root, None, ["sh", "-c", f"{TRAINER} --env --samples 8; exit 0"], size=2,
              incarnation=3, generation=4, restart_count=2, checkpoint_dir=str(root / "c"),
              lr_rule="sqrt", lr_to_ppm=1414214, lr_from_ppm=1000000, ramp_samples=64,
              ramp_start_samples=8,
              env=["PATH=/usr/bin:/bin", "RANK=77", "ELASTANE_JOB_ID=9", "MINE=yes"])
    job.start()
    job.wait_exit_record()
    for rank in (0, 1):
        env = dict(line[4:].split("=", 1) for line in job.lines("env ", rank))
        assert env["RANK"] == env["LOCAL_RANK"] == str(rank), env
        assert env["WORLD_SIZE"] == env["LOCAL_WORLD_SIZE"] == "2"
        assert env["MASTER_ADDR"] == "127.0.0.1" and int(env["MASTER_PORT"]) > 0
        assert env["OMP_NUM_THREADS"] == "1" and env["MINE"] == "yes"
        assert env["ELASTANE_JOB_ID"] == str(job.job)
        assert env["ELASTANE_GENERATION"] == "4" and env["ELASTANE_INCARNATION"] == "3"
        assert env["ELASTANE_GLOBAL_BATCH"] == "8" and env["ELASTANE_MICRO_BATCH"] == "4"
        assert env["ELASTANE_ACCUMULATION"] == "1" and env["ELASTANE_BASE_BATCH"] == "8"
        assert env["ELASTANE_LR_RULE"] == "sqrt"
        assert env["ELASTANE_LR_FACTOR"] == "1.414214"
        assert env["ELASTANE_LR_FACTOR_FROM"] == "1.000000"
        assert env["ELASTANE_RAMP_START"] == "8" and env["ELASTANE_RAMP_SAMPLES"] == "64"
        assert env["ELASTANE_CHECKPOINT_DIR"] == str(root / "c")
        assert env["ELASTANE_CHANNEL"] == f"{job.dir.resolve()}/channel"
        assert env["ELASTANE_RESTART_COUNT"] == "2" and env["ELASTANE_GRACE_MS"] == "20000"
        assert env["ELASTANE_LEVEL"] == "elastic"


def a_job_without_batch_has_no_batch_names(root):
    job = Job(root, None, [TRAINER, "--env", "--samples", 8], level="rigid", batch=0,
              device_kind="cuda", ranks=[{"rank": 0, "device": 3}])
    job.start()
    job.wait_exit_record()
    env = dict(line[4:].split("=", 1) for line in job.lines("env "))
    assert "ELASTANE_GLOBAL_BATCH" not in env and env["CUDA_VISIBLE_DEVICES"] == "3"


def a_job_that_knows_nothing_of_elastane_just_runs(root):
    daemon = Daemon(root)
    job = Job(root, daemon, ["sh", "-c", "echo out; echo error >&2"], level="rigid", batch=0)
    job.start()
    daemon.accept()
    assert daemon.wait("exit")["cause"] == "done"
    assert job.log() == "out\nerror\n"


def a_command_that_does_not_exist_is_a_start_that_failed(root):
    daemon = Daemon(root)
    job = Job(root, daemon, ["./no-such-program"], size=2)
    assert job.start() == "started"
    daemon.accept()
    end = daemon.wait("exit")
    assert (end["cause"], end["exit_code"], end["rank"]) == \
        failure("start-failed", 127, 0), end
    assert FORM != "rank" or "run ./no-such-program: No such file" in end["text"], end


def a_directory_that_does_not_exist_is_named(root):
    daemon = Daemon(root)
    job = Job(root, daemon, ["true"], cwd="/no/such/directory")
    job.start()
    daemon.accept()
    end = daemon.wait("exit")
    assert end["cause"] == "start-failed" and "/no/such/directory" in end["text"], end


def a_bad_order_is_refused_with_the_field(root):
    job = Job(root, None, ["true"], ranks=[{"rank": 5, "device": 0}])
    assert job.start() == "" and job.status == 1
    assert "ranks" in job.stderr, job.stderr
    assert not (job.dir / "started.json").exists()


def r09_a_job_trains_on_while_the_daemon_is_dead_and_is_adopted(root):
    daemon = Daemon(root)
    job = Job(root, daemon, [TRAINER])
    job.start()
    daemon.accept()
    daemon.wait("started")
    daemon.down()
    steps = len(job.lines("step"))
    job.wait_line("step", count=steps + 50)
    daemon.up()
    hello = daemon.accept()
    assert hello["phase"] == "running" and hello["ranks_up"] == 1, hello
    assert hello["samples_done"] > 0
    daemon.wait("started")
    daemon.send("stop", grace_us=20_000_000)
    assert daemon.wait("exit")["cause"] == "stopped"


def r09_an_exit_without_a_daemon_is_told_to_the_next_one(root):
    daemon = Daemon(root)
    job = Job(root, daemon, [TRAINER, "--samples", 4000])
    job.start()
    daemon.accept()
    daemon.down()
    job.wait_exit_record()
    daemon.up()
    hello = daemon.accept()
    assert hello["phase"] == "ended" and hello["cause"] == "done", hello
    assert daemon.wait("exit")["cause"] == "done"
    daemon.send("exit-ack")
    daemon.wait_end()
    job.wait_shim_gone()


def a_shim_leaves_when_nobody_takes_the_exit(root):
    daemon = Daemon(root)
    daemon.down()
    job = Job(root, daemon, [TRAINER, "--samples", 8])
    job.start(leave_after=0)
    assert job.wait_exit_record()["cause"] == "done"
    job.wait_shim_gone()


def a_dead_shim_takes_its_ranks_along_and_is_recorded_as_lost(root):
    daemon = Daemon(root)
    job = Job(root, daemon, ["sh", "-c", f"{TRAINER}; exit 0"], size=2)
    job.start()
    daemon.accept()
    daemon.wait("started")
    os.kill(job.started()["shim_pid"], signal.SIGKILL)
    daemon.wait_end()
    assert job.start() == "lost" and job.status == 0
    assert job.exit_record()["cause"] == "lost"
    assert wait_for(lambda: not job.processes(), "no process", job=job)
    hello = daemon.accept()
    assert hello["phase"] == "ended" and hello["cause"] == "lost", hello
    daemon.send("exit-ack")
    job.wait_shim_gone()
    assert job.start() == "already-ended"


def two_incarnations_append_to_one_log(root):
    logs = root / "logs"
    for number in (1, 2):
        job = Job(root, None, ["echo", f"run {number}"], level="rigid", job=5,
                  incarnation=number, log_dir=str(logs))
        job.start()
        job.wait_exit_record()
    assert (logs / "rank-0.log").read_text() == "run 1\nrun 2\n"


BIND = ("import os,socket; s=socket.socket(); s.setsockopt(socket.SOL_SOCKET,"
        "socket.SO_REUSEADDR,1); s.bind(('127.0.0.1',int(os.environ['MASTER_PORT'])));"
        "s.listen(); print('listening',flush=True); import signal; signal.pause()")


def r03_a_taken_port_leads_to_another_one_and_never_to_a_failed_job(root):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        job = Job(root, None, ["/usr/bin/python3", "-c", BIND], level="rigid",
                  master_port=port)
        job.start()
        job.wait_line("listening")
        assert job.started()["master_port"] != port
    os.kill(job.started()["shim_pid"], signal.SIGTERM)
    job.wait_exit_record()


def r03_two_jobs_and_two_generations_never_share_a_port(root):
    jobs = [Job(root, None, ["/usr/bin/python3", "-c", BIND], level="rigid", job=j,
                incarnation=i, generation=i) for j in (1, 2) for i in (1, 2)]
    for job in jobs:
        job.start()
    for job in jobs:
        job.wait_line("listening")
    ports = [job.started()["master_port"] for job in jobs]
    assert len(set(ports)) == len(ports), ports
    for job in jobs:
        os.kill(job.started()["shim_pid"], signal.SIGTERM)
    for job in jobs:
        job.wait_exit_record()


def r03_a_reserved_port_is_given_to_nobody_else(root):
    job = Job(root, None, ["sh", "-c", "sleep 1000"], level="rigid")
    job.start()
    port = job.started()["master_port"]
    with socket.socket() as thief:
        try:
            thief.bind(("127.0.0.1", port))
            raise AssertionError("the port was free")
        except OSError:
            pass
    os.kill(job.started()["shim_pid"], signal.SIGTERM)
    job.wait_exit_record()


def r13_a_late_worker_hears_done(root):
    daemon = Daemon(root)
    job = Job(root, daemon, [TRAINER, "--samples", 8])
    job.start()
    daemon.accept()
    daemon.wait("exit")
    answer = job.dial()
    assert answer["kind"] == "turned-away" and "done" in answer["text"], answer
    daemon.send("exit-ack")
    job.wait_shim_gone()


def r13_an_older_generation_and_a_second_process_are_turned_away(root):
    daemon = Daemon(root)
    job = Job(root, daemon, [TRAINER], generation=5)
    job.start()
    daemon.accept()
    daemon.wait("started")
    answer = job.dial(generation=4)
    assert answer["kind"] == "turned-away" and "generation 4 is over" in answer["text"]
    answer = job.dial(generation=5)
    assert answer["kind"] == "turned-away" and "rank 0 is pid" in answer["text"], answer
    answer = job.dial(rank=1, generation=5)
    assert answer["kind"] == "turned-away" and "no rank 1" in answer["text"], answer
    daemon.send("stop", grace_us=20_000_000)
    assert daemon.wait("exit")["cause"] == "stopped"


def r13_a_rank_that_lives_on_after_success_is_reaped_and_the_job_is_done_once(root):
    daemon = Daemon(root)
    job = Job(root, daemon, [TRAINER, "--samples", 80, "--linger", "--only-rank", 0],
              size=2, grace_us=300_000)
    job.start()
    daemon.accept()
    end = daemon.wait("exit")
    assert (end["cause"], end["exit_code"]) == ("done", 0), end
    assert not job.processes()
    daemon.send("exit-ack")
    daemon.wait_end()  # and nothing else comes
    job.wait_shim_gone()


def r13_children_left_behind_get_the_grace_and_are_reaped(root):
    daemon = Daemon(root)
    job = Job(root, daemon, ["sh", "-c", "sleep 1000 & setsid sleep 1000 & exit 0"],
              level="rigid", grace_us=200_000)
    job.start()
    daemon.accept()
    assert daemon.wait("exit")["cause"] == "done"
    assert not job.processes()


def a_shim_of_root_becomes_the_owner_of_the_directory(root):
    if os.getuid() != 0:
        return
    os.chmod(root, 0o711)
    daemon = Daemon(root)
    job = Job(root, daemon, ["sh", "-c", "id -u; id -g; id -G; ls -ln rank-0.log"],
              level="rigid", uid=65534, gid=65534)
    for path in [job.dir, *job.dir.iterdir()]:
        os.chown(path, 65534, 65534)
    assert job.start() == "started", job.stderr
    daemon.accept()
    assert daemon.wait("exit")["cause"] == "done"
    lines = job.log().splitlines()
    assert lines[:3] == ["65534", "65534", "65534"], lines
    assert (job.dir / "exit.json").stat().st_uid == 65534


def an_order_for_another_user_is_refused(root):
    job = Job(root, None, ["true"], uid=os.getuid() + 1)
    assert job.start() == "" and job.status == 1
    assert "order.json is for uid" in job.stderr, job.stderr


def a_long_path_is_no_obstacle(root):
    deep = root / ("d" * 60) / ("e" * 60)
    deep.mkdir(parents=True)
    daemon = Daemon(root)
    job = Job(deep, daemon, [TRAINER, "--samples", 8])
    job.start()
    daemon.accept()
    assert daemon.wait("exit")["cause"] == "done"
    assert "mode 1" in job.lines("plan")[0], job.log()


if __name__ == "__main__":
    sys.exit(run([
        a_job_runs_to_its_end_and_is_reported_once,
        a_repeated_start_is_harmless,
        the_environment_contract_holds_under_a_shell,
        a_job_without_batch_has_no_batch_names,
        a_job_that_knows_nothing_of_elastane_just_runs,
        a_command_that_does_not_exist_is_a_start_that_failed,
        a_directory_that_does_not_exist_is_named,
        a_bad_order_is_refused_with_the_field,
        r09_a_job_trains_on_while_the_daemon_is_dead_and_is_adopted,
        r09_an_exit_without_a_daemon_is_told_to_the_next_one,
        a_shim_leaves_when_nobody_takes_the_exit,
        a_dead_shim_takes_its_ranks_along_and_is_recorded_as_lost,
        two_incarnations_append_to_one_log,
        r03_a_taken_port_leads_to_another_one_and_never_to_a_failed_job,
        r03_two_jobs_and_two_generations_never_share_a_port,
        r03_a_reserved_port_is_given_to_nobody_else,
        r13_a_late_worker_hears_done,
        r13_an_older_generation_and_a_second_process_are_turned_away,
        r13_a_rank_that_lives_on_after_success_is_reaped_and_the_job_is_done_once,
        r13_children_left_behind_get_the_grace_and_are_reaped,
        a_shim_of_root_becomes_the_owner_of_the_directory,
        an_order_for_another_user_is_refused,
        a_long_path_is_no_obstacle,
    ]))
