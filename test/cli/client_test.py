#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""client_test.py [slow] - `elastane` against a daemon that says good, bad and mad things."""

import contextlib
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
from fake_daemon import FakeDaemon, answer, problem

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = pathlib.Path(os.environ.get("ELASTANE_BUILD", "build")).resolve() / "src/prog/elastane"

JOB = {"id": 17, "name": "mlp", "state": "running", "level": "elastic", "size": 2,
       "global_batch": 512, "micro_batch": 256, "accumulation": 1, "generation": 3,
       "samples_done": 300, "samples_total": 600, "rate_milli": 4100000, "active_us": 65000000,
       "sizes": {"min": 1, "max": 4, "step": 1}, "reason": "grew", "grace_us": 30000000,
       "batch_min": 128, "batch_max": 1024, "batch_base": 128, "argv": ["python3", "train.py"],
       "nodes": [{"name": "n1", "devices": 2}], "submit_us": 1790000000000000,
       "start_us": 1790000001000000, "cause": "none", "model_source": "measured",
       "profile": "passive",
       "history": [{"time_us": 1790000000000000, "generation": 1, "size": 1, "global_batch": 128,
                    "state": "starting", "reason": "alone in the cluster"},
                   {"time_us": 1790000060000000, "generation": 3, "size": 2, "global_batch": 512,
                    "state": "resizing", "reason": "pays back in 12 s"}]}


class Run:
    """One run of the program: code, out, err."""

    def __init__(self, words, directory, **env):
        base = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TZ": "UTC",
                "ELASTANE_SOCKET": str(directory / "s")}
        base.update(env)
        done = subprocess.run([PROGRAM, *words], cwd=directory, env=base, timeout=120,
                              stdin=subprocess.DEVNULL, capture_output=True)
        self.code, self.out = done.returncode, done.stdout.decode()
        self.err = done.stderr.decode()

    def expect(self, code, out=None, err=None):
        seen = f"exit {self.code}\nout: {self.out!r}\nerr: {self.err!r}"
        assert self.code == code, f"wanted exit {code}; {seen}"
        assert out is None or self.out == out, f"wanted out {out!r}; {seen}"
        assert err is None or self.err == err, f"wanted err {err!r}; {seen}"
        return self


@contextlib.contextmanager
def daemon(handler):
    with tempfile.TemporaryDirectory() as top:
        directory = pathlib.Path(top)
        shutil.copytree(HERE / "files", directory, dirs_exist_ok=True)
        with FakeDaemon(directory / "s", handler) as fake:
            fake.directory = directory
            fake.run = lambda *words, **env: Run(words, directory, **env)
            yield fake
        assert not fake.errors, fake.errors


def always(*args, **kw):
    return lambda *_: answer(*args, **kw)


def submit_prints_the_id_alone():
    with daemon(always(201, {"id": 17, "warnings": ["weight: ignored by policy fifo"]})) as d:
        d.run("submit", "good.yaml").expect(
            0, "17\n", "elastane: warning: weight: ignored by policy fifo\n")
        method, path, headers, body = d.requests[0]
        assert (method, path) == ("POST", "/v1/jobs")
        assert headers["content-type"] == "application/json"
        job = json.loads(body)
        assert job["sizes"] == {"min": 1, "max": 4, "step": 1}
        assert job["batch_min"] == 128 and job["samples_total"] == 600000
        assert job["launch"]["argv"] == ["/bin/true", "--epochs", "10"]
        assert job["launch"]["cwd"] == str(d.directory)
        assert job["launch"]["env"] == {"HOME": "/nonexistent", "PATH": "/usr/bin:/bin",
                                        "SEED": "7", "TZ": "UTC"}
        assert job["model"]["proc"][0] == {"micro_batch": 64, "time_ns": 10000000}
        d.run("submit", "--json", "-e", "SEED=8", "--cwd", "/", "good.yaml").expect(
            0, '{"id":17,"warnings":["weight: ignored by policy fifo"]}\n',
            '{"warning":"weight: ignored by policy fifo"}\n')
        job = json.loads(d.requests[1][3])
        assert job["launch"]["env"]["SEED"] == "8" and job["launch"]["cwd"] == "/"


def submit_takes_only_named_variables_along():
    with daemon(always(201, {"id": 1})) as d:
        d.run("submit", "-e", "TOKEN", "--", "true", TOKEN="t", SECRET="s").expect(0, "1\n", "")
        env = json.loads(d.requests[0][3])["launch"]["env"]
        assert env["TOKEN"] == "t" and "SECRET" not in env and "ELASTANE_SOCKET" not in env
        d.run("submit", "--export", "TOKEN,PATH", "--", "true", TOKEN="t").expect(0, "1\n", "")
        env = json.loads(d.requests[1][3])["launch"]["env"]
        assert env == {"TOKEN": "t", "PATH": "/usr/bin:/bin"}, env
        # The blame is on the option that was given.
        d.run("submit", "--export", "PATH,ALL", "--", "true").expect(
            1, "", "elastane: export: names ALL, which is not set here; give it with --env "
            "ALL=VALUE, or leave it out\n")
        d.run("submit", "--export", "TOKEN", "-e", "TOKEN=x", "--", "true").expect(0, "1\n", "")


def submit_runs_a_script_by_its_interpreter():
    with daemon(always(201, {"id": 1})) as d:
        (d.directory / "job.sh").chmod(0o644)
        d.run("submit", "job.sh", "a", "b c").expect(0, "1\n")
        job = json.loads(d.requests[0][3])
        assert job["launch"]["argv"] == ["/bin/sh", str(d.directory / "job.sh"), "a", "b c"]
        assert job["name"] == "script"
        (d.directory / "job.sh").chmod(0o755)
        d.run("submit", "job.sh").expect(0, "1\n")
        assert json.loads(d.requests[1][3])["launch"]["argv"] == [str(d.directory / "job.sh")]


def submit_shows_a_refusal_with_its_place():
    with daemon(lambda *_: problem(422, "infeasible", "begins at 1; too small", "gpus")) as d:
        d.run("submit", "good.yaml").expect(
            1, "", "elastane: good.yaml:3:1: gpus: begins at 1; too small\n")
        d.run("submit", "--gpus", "1", "good.yaml").expect(
            1, "", "elastane: gpus: begins at 1; too small\n")
        assert len(d.requests) == 2


def submit_is_never_sent_twice():
    with daemon(lambda *_: None) as d:
        d.run("submit", "good.yaml").expect(3, "")
        assert len(d.requests) == 1


def list_fits_the_terminal_and_walks_pages():
    pages = {"0": ([dict(JOB, id=1), dict(JOB, id=2, state="queued", size=0, global_batch=0,
                                          reason="waits for 2 gpu")], 2),
             "2": ([dict(JOB, id=3, next_size=4)], 0)}

    def handler(method, path, *_):
        jobs, following = pages[re.search(r"after=(\d+)", path)[1]]
        return answer(200, {"jobs": jobs, "next": following})

    with daemon(handler) as d:
        d.run("list", "--all").expect(
            0, "ID  NAME  STATE    LEVEL    GPUS  BATCH  DONE    RATE   TIME  REASON\n"
               " 1  mlp   running  elastic     2    512   50%  4100/s  1m 5s  grew\n"
               " 2  mlp   queued   elastic  1..4      -   50%  4100/s  1m 5s  waits for 2 gpu\n"
               " 3  mlp   running  elastic   2>4    512   50%  4100/s  1m 5s  grew\n", "")
        assert "&all=1" in d.requests[0][1]
        d.run("list", "--state", "running,queued", COLUMNS="56").expect(
            0, "ID  NAME  STATE    GPUS  BATCH  DONE  REASON\n"
               " 1  mlp   running     2    512   50%  grew\n"
               " 2  mlp   queued   1..4      -   50%  waits for 2 gpu\n"
               " 3  mlp   running   2>4    512   50%  grew\n")
        assert "&state=running,queued" in d.requests[2][1]
        jobs = json.loads(d.run("list", "--json").expect(0).out)["jobs"]
        assert [job["id"] for job in jobs] == [1, 2, 3] and jobs[2] == dict(JOB, id=3, next_size=4)


def list_without_jobs_is_an_empty_table():
    with daemon(always(200, {"jobs": [], "next": 0})) as d:
        assert d.run("list").expect(0).out.startswith("ID  NAME")
        d.run("list", "--json").expect(0, '{"jobs":[]}\n')


def list_does_not_go_round_in_circles():
    with daemon(always(200, {"jobs": [JOB], "next": 17})) as d:
        run = d.run("list").expect(3, "")
        assert "circles" in run.err and len(d.requests) == 2


def show_tells_plan_and_history():
    with daemon(always(200, JOB)) as d:
        out = d.run("show", "17").expect(0, err="").out
        assert out.startswith("job 17 mlp: running\n"), out
        assert "2 gpus, batch 512: 1 pass of at most 256 samples on each, generation 3" in out, out
        assert "samples      300 of 600 (50%)" in out, out
        assert "\nprofile      passive\n" in out, out
        assert re.search(r"^2026-\S+ \S+ +3  resizing +2 +512  pays back in 12 s$", out, re.M), out
        assert json.loads(d.run("show", "17", "--json").expect(0).out) == JOB
        assert d.requests[0][:2] == ("GET", "/v1/jobs/17")


def show_prints_a_command_that_a_shell_takes_back():
    argv = ["/bin/sh", "-c", "trap 'x' TERM; echo \"$1\"\n", "", "a b", "\x1b[2J", "x" * 2000]
    with daemon(always(200, dict(JOB, argv=argv))) as d:
        out = d.run("show", "17").expect(0, err="").out
        line = next(line for line in out.splitlines() if line.startswith("command "))
        script = f"printf '%s\\0' {line[13:]}"
        done = subprocess.run(["/bin/bash", "-c", script], capture_output=True, check=True)
        assert done.stdout.decode().split("\0")[:-1] == argv, line


def show_of_a_stranger_is_not_found():
    with daemon(lambda *_: problem(404, "not-found", "no job 99")) as d:
        d.run("show", "99").expect(4, "", "elastane: no job 99\n")


def show_does_not_let_names_play_with_the_terminal():
    with daemon(always(200, dict(JOB, name="a\x1b[2Jb", reason="c\nd"))) as d:
        out = d.run("show", "17").expect(0).out
        assert "\x1b" not in out and "a?[2Jb" in out


def wait_tells_the_end_by_its_exit_code():
    for state, code in (("done", 0), ("failed", 10), ("cancelled", 11), ("dropped", 12)):
        states = iter(["queued", "running", state])
        with daemon(lambda *_: answer(200, dict(JOB, state=next(states)))) as d:
            d.run("wait", "17").expect(code, f"job 17 mlp: {state}: grew\n", "")
            assert [r[1] for r in d.requests] == \
                [f"/v1/jobs/17/wait?timeout_s={n}" for n in (0, 30, 30)]


def wait_gives_up_after_its_timeout():
    with daemon(always(200, JOB)) as d:
        d.run("wait", "--timeout", "1s", "17").expect(
            13, "", "elastane: job 17 has not ended\n")


AWAY = "; waiting up to 60 s for it to come back\n"


def wait_outlives_a_daemon_that_restarts():
    steps = iter([answer(200, JOB), None, problem(503, "again", "stopping"),
                  answer(200, dict(JOB, state="done"))])
    with daemon(lambda *_: next(steps)) as d:
        run = d.run("wait", "17").expect(0, "job 17 mlp: done: grew\n")
        assert run.err.count(AWAY) == 1 and "broke off" in run.err, run.err
    steps = iter([problem(503, "again", "stopping"), answer(200, dict(JOB, state="done"))])
    with daemon(lambda *_: next(steps)) as d:
        d.run("wait", "17").expect(0, "job 17 mlp: done: grew\n",
                                   "elastane: warning: stopping" + AWAY)


def wait_does_not_wait_for_a_daemon_that_never_was():
    with daemon(lambda *_: None) as d:
        d.run("wait", "17").expect(3, "")
        assert len(d.requests) == 1
        d.run("wait", "17", "--socket", "none").expect(3, "")


def wait_tells_when_its_time_is_over_and_no_daemon_answers():
    steps = iter([answer(200, JOB)])
    with daemon(lambda *_: next(steps, None)) as d:
        run = d.run("wait", "--timeout", "2s", "17").expect(13, "")
        assert run.err.endswith("has not ended as far as is known: no daemon answers\n"), run.err


def logs_are_passed_on_as_they_are():
    with daemon(lambda *_: answer(200, b"a\x00\xff\r\n", "application/octet-stream")) as d:
        done = subprocess.run([PROGRAM, "logs", "--rank", "1", "17"], capture_output=True,
                              env={"ELASTANE_SOCKET": d.path}, timeout=60)
        assert done.stdout == b"a\x00\xff\r\n" and done.returncode == 0
        assert d.requests[0][1] == "/v1/jobs/17/logs?rank=1&offset=0"


def logs_come_as_objects_with_json():
    text = "one\nz\u00fc\n".encode() + b"\xff\0\r\n" + b"x" * 70000 + b"\nlast"
    pieces = [text[i:i + 5] for i in range(0, 40, 5)] + [text[40:]]
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(text)}\r\nConnection: close\r\n\r\n".encode()
    with daemon(lambda *_: [head, *pieces]) as d:
        lines = d.run("logs", "--json", "17").expect(0, err="").out.splitlines()
        told = [json.loads(line) for line in lines]
        assert [t["text"] for t in told[:3]] == ["one\n", "z\u00fc\n", "??\r\n"], told[:3]
        assert told[-1]["text"] == "last"
        assert [t["offset"] for t in told[:3]] == [0, 4, 8] and told[-1]["offset"] == len(text) - 4
        assert "".join(t["text"] for t in told[3:-1]) == "x" * 70000 + "\n"
    with daemon(lambda *_: answer(200, b"", "application/octet-stream")) as d:
        d.run("logs", "--json", "17").expect(
            0, "", '{"note":"elastane: rank 0 of job 17 has written nothing"}\n')


def logs_follow_until_the_last_line():
    chunk = lambda text: f"{len(text):x}\r\n{text}\r\n".encode()
    head = (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n")
    asked = []

    def handler(method, path, *_):
        asked.append(path)
        if path == "/v1/jobs/17":
            return answer(200, dict(JOB, state="done"))
        offset = int(re.search(r"offset=(\d+)", path)[1])
        if "follow" not in path:
            return answer(200, b"last\n" if offset else b"", "application/octet-stream")
        if offset == 0:
            return [head, chunk("one\n"), chunk("two\n"), b"0\r\n\r\n"]
        return [head, b"0\r\n\r\n"]

    with daemon(handler) as d:
        d.run("logs", "-f", "17").expect(0, "one\ntwo\nlast\n", "")
        assert asked == ["/v1/jobs/17/logs?rank=0&offset=0",
                         "/v1/jobs/17/logs?rank=0&offset=0&follow=1",
                         "/v1/jobs/17/logs?rank=0&offset=8&follow=1", "/v1/jobs/17",
                         "/v1/jobs/17/logs?rank=0&offset=8"], asked


def logs_go_on_where_a_daemon_that_restarts_broke_off():
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    text = b"one\ntwo\nlast\n"
    broken = iter([0, 1])

    def handler(method, path, *_):
        if path == "/v1/jobs/17":
            return answer(200, dict(JOB, state="done"))
        offset = int(re.search(r"offset=(\d+)", path)[1])
        if "follow" in path and next(broken, None) is not None:
            return [head, b"4\r\n" + text[offset:offset + 4] + b"\r\n"]  # and no more
        return answer(200, text[offset:] if offset else b"", "application/octet-stream")

    with daemon(handler) as d:
        run = d.run("logs", "-f", "17").expect(0, text.decode())
        assert run.err.count(AWAY) >= 1, run.err


def logs_of_no_such_rank_are_not_found():
    with daemon(lambda *_: problem(404, "not-found", "job 17 never had a rank 9")) as d:
        d.run("logs", "-r", "9", "17").expect(4, "", "elastane: job 17 never had a rank 9\n")


def logs_into_a_closed_pipe_end_quietly():
    with daemon(lambda *_: answer(200, b"x" * 1000000, "application/octet-stream")) as d:
        line = f"'{PROGRAM}' logs 17 | head -c 10; exit ${{PIPESTATUS[0]}}"
        done = subprocess.run(["/bin/bash", "-c", line], capture_output=True, timeout=60,
                              env={"ELASTANE_SOCKET": d.path, "PATH": "/usr/bin:/bin"})
        assert done.returncode == 1 and done.stdout == b"x" * 10, done


def cancel_tries_all_and_tells_the_first_failure():
    def handler(method, path, *_):
        if "/8/" in path:
            return problem(404, "not-found", "no job 8")
        return answer(202, {"id": int(path.split("/")[3]), "state": "stopping"})

    with daemon(handler) as d:
        d.run("cancel", "7", "8", "9").expect(4, "job 7: stopping\njob 9: stopping\n",
                                              "elastane: no job 8\n")
        assert [r[:2] for r in d.requests] == [("POST", f"/v1/jobs/{n}/cancel") for n in (7, 8, 9)]
        d.run("pause", "--json", "7", "9").expect(
            0, '[{"id":7,"state":"stopping"},{"id":9,"state":"stopping"}]\n')
        d.run("resume", "7").expect(0, "job 7: stopping\n")
        assert d.requests[-1][1] == "/v1/jobs/7/resume"


def update_sends_only_what_is_given():
    with daemon(always(200, {"id": 17, "warnings": []})) as d:
        d.run("update", "17", "--gpus", "2,4", "--weight", "2").expect(0, "", "")
        method, path, _, body = d.requests[0]
        assert (method, path) == ("PATCH", "/v1/jobs/17")
        assert json.loads(body) == {"sizes": {"listed": [2, 4]}, "weight_ppm": 2000000}


def explain_prints_the_text():
    with daemon(always(200, {"text": "It waits.\nFor 2 gpu.", "more": 1})) as d:
        d.run("explain", "17").expect(0, "It waits.\nFor 2 gpu.\n", "")
        d.run("explain", "--json", "17").expect(
            0, '{"more":1,"text":"It waits.\\nFor 2 gpu."}\n')


def nodes_show_who_holds_what():
    nodes = [{"name": "n1", "device_type": "cpu", "state": "up", "devices": 4, "held": 3,
              "free": 1, "gone": 0, "jobs": [{"id": 17, "devices": 2}, {"id": 19, "devices": 1}]},
             {"name": "n2", "device_type": "", "state": "lost", "devices": 2, "held": 0,
              "free": 0, "gone": 2, "jobs": []}]
    with daemon(always(200, {"nodes": nodes})) as d:
        d.run("nodes").expect(
            0, "NODE  TYPE  STATE  GPUS  HELD  FREE  GONE  JOBS\n"
               "n1    cpu   up        4     3     1     0  17:2 19:1\n"
               "n2    -     lost      2     0     0     2  -\n", "")


def nodes_show_devices_that_are_not_given_out():
    node = {"name": "n1", "device_type": "a100", "state": "up", "devices": 4, "held": 1, "free": 1,
            "withheld": 2, "gone": 0, "jobs": [{"id": 17, "devices": 1}],
            "marks": [{"device": 0, "job": 17, "state": "foreign", "who": "ada, pid 7, 90 MiB"},
                      {"device": 2, "job": 0, "state": "foreign", "who": "ada, pid 7, 10 MiB"},
                      {"device": 3, "job": 0, "state": "stuck", "who": "job 9, pid 8, 80 MiB"}]}
    with daemon(always(200, {"nodes": [node]})) as d:
        d.run("nodes").expect(
            0, "NODE  TYPE  STATE  GPUS  HELD  FREE  GONE  JOBS\n"
               "n1    a100  up        4     1     1     0  17:1\n"
               "n1 gpu 0 is foreign, held by job 17: ada, pid 7, 90 MiB\n"
               "n1 gpu 2 is foreign: ada, pid 7, 10 MiB\n"
               "n1 gpu 3 is stuck: job 9, pid 8, 80 MiB\n", "")


def status_fails_when_the_journal_is_blocked():
    status = {"version": "0.1.0", "policy": "joint", "admission": "queue", "scaler": "payback",
              "pid": 5, "jobs": {"running": 2}, "is_blocked": False, "blocked_reason": "",
              "devices": {"total": 4, "held": 3, "free": 1, "gone": 0}}
    with daemon(lambda *_: answer(200, status)) as d:
        d.run("status").expect(
            0, "elastaned 0.1.0, process 5\npolicy    joint, admission queue, scaler payback\n"
               "devices   4: 3 held, 1 free, 0 gone\njobs      2 running\n", "")
        status.update(is_blocked=True, blocked_reason="No space left on device")
        assert "No space left" in d.run("status").expect(1).out
        assert json.loads(d.run("status", "--json").expect(1, err="").out)["is_blocked"]


def calibrate_waits_for_the_result():
    states = iter([{"state": "running"}, {"state": "done", "time_us": 1790000000000000, "points": [
        {"bytes": 4194304, "size": 2, "nodes": 1, "time_ns": 812000}]}])

    def handler(method, path, *_):
        if method == "POST":
            return answer(202, {"state": "running"})
        return answer(200, next(states))

    with daemon(handler) as d:
        out = d.run("calibrate").expect(0, err="").out
        assert "4194304     2      1  812 us" in out, out


def calibrate_tells_who_is_in_its_way():
    node = {"device_type": "cpu", "state": "up", "gone": 0}
    nodes = [dict(node, name=f"n{n}", devices=2, held=1 if n == 1 else 2, free=n == 1,
                  jobs=[{"id": n, "devices": 1}] + ([{"id": 9, "devices": 1}] if n > 1 else []))
             for n in range(1, 7)]
    for one in nodes:
        one["free"] = int(one["free"])
    state = {"state": "none"}

    def handler(method, path, *_):
        if method == "POST":
            return problem(409, "busy", "needs 2 free devices, 1 free now")
        return answer(200, state if path == "/v1/calibrate" else {"nodes": nodes})

    with daemon(handler) as d:
        d.run("calibrate").expect(
            1, "", "elastane: needs 2 free devices, 1 free now; jobs (id:devices) hold 1:1 on n1, "
            "2:1 9:1 on n2, 3:1 9:1 on n3, 4:1 9:1 on n4 and 2 nodes more (elastane nodes); wait "
            "until one has ended (elastane wait ID), or pause one that saves (elastane pause ID), "
            "calibrate, and resume it\n")
        assert "pause" in failure(d.run("calibrate", "--json"), 1, "busy")
        nodes[:] = [dict(node, name="n1", devices=1, held=0, free=1, jobs=[])]
        d.run("calibrate").expect(
            1, "", "elastane: needs 2 free devices, 1 free now; 1 device is up, and there is "
            "nothing to measure between fewer than two\n")
        state["state"] = "running"
        run = d.run("calibrate").expect(1, "")
        assert "running already; it takes about a minute" in run.err, run.err
    with daemon(lambda method, *_: problem(409, "busy", "needs 2 free devices, 1 free now")
                if method == "POST" else None) as d:
        d.run("calibrate").expect(1, "", "elastane: needs 2 free devices, 1 free now\n")


# Every command with operands that fit, as it asks the daemon or reads a file.
COMMANDS = {"submit": ["good.yaml"], "list": [], "show": ["17"], "logs": ["17"], "wait": ["17"],
            "cancel": ["17"], "pause": ["17"], "resume": ["17"], "update": ["17", "--gpus", "2"],
            "explain": ["17"], "nodes": [], "status": [], "calibrate": [],
            "progress": [], "replay": ["missing"], "simulate": ["missing.scn"],
            "allocate": ["missing.json"], "bench": ["nothing"]}
OFFLINE = ("progress", "replay", "simulate", "allocate", "bench")


def failure(run, code, word, field=""):
    """What one failing command says with --json."""
    lines = run.expect(code, "[]\n" if run.out == "[]\n" else "").err.splitlines()
    assert len(lines) == 1, run.err
    told = json.loads(lines[0])
    assert sorted(told) == ["code", "error", "exit", "field"], told
    assert (told["exit"], told["code"], told["field"]) == (code, word, field), told
    assert told["error"], told
    return told["error"]


def json_tells_every_failure_in_one_form():
    help_text = subprocess.run([PROGRAM, "--help"], capture_output=True, check=True).stdout.decode()
    assert re.findall(r"^  ([a-z]+) +[a-z]", help_text, re.M) == list(COMMANDS), help_text
    refusal = lambda *_: problem(409, "state", "17 has ended", "id")
    with daemon(refusal) as d:
        for command, words in COMMANDS.items():
            failure(d.run(command, "--bogus", "--json"), 2, "usage")
            failure(d.run(command, "--json", "--bogus"), 2, "usage")
            if command == "progress":  # --samples is missing
                failure(d.run(command, "--json"), 2, "usage", "samples")
                continue
            if command == "bench":  # it reads nothing
                failure(d.run(command, "--json", *words), 2, "usage")
                continue
            if command in OFFLINE:
                failure(d.run(command, "--json", *words), 4, "not-found")
                continue
            failure(d.run(command, "--json", *words), 1, "state", "id")
            failure(d.run(command, "--json", "--socket", "no", *words), 3, "io")
        for command in ("show", "logs", "wait", "cancel", "pause", "resume", "update", "explain"):
            more = ["--gpus", "2"] if command == "update" else []
            failure(d.run(command, "--json", "x", *more), 2, "usage")
            failure(d.run(command, "--json"), 2, "usage")
        failure(d.run("logs", "--rank", "x", "17", "--json"), 2, "usage", "rank")
        failure(d.run("frobnicate", "--json"), 2, "usage")
        assert failure(d.run("submit", "--json", "--gpus", "0", "--", "true"), 1, "invalid", "gpus")
        failure(d.run("submit", "--json", "--", "no-such-program"), 4, "not-found", "command")
        place = failure(d.run("submit", "--json", "type.yaml"), 1, "invalid", "gpus")
        assert place.startswith("type.yaml:2:7: "), place
        d.run("submit", "--bogus", "--", "true", "--json").expect(
            2, "", "elastane: unknown option --bogus\nUsage: elastane submit [OPTION]... "
            "{-- COMMAND... | JOB.yaml | SCRIPT [WORD]...}\nTry 'elastane submit --help'.\n")
    with daemon(always(200, JOB)) as d:
        failure(d.run("wait", "--json", "--timeout", "1s", "17"), 13, "timeout")
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, "show", "17", "--json"], stdout=full, timeout=60,
                                  env={"ELASTANE_SOCKET": d.path}, stderr=subprocess.PIPE)
        assert done.returncode == 1 and json.loads(done.stderr)["exit"] == 1, done


def help_and_manual_name_the_same_options():
    manual = HERE.parents[1] / "man"
    page = (manual / "elastane.1").read_text()
    synopsis = page.split(".Sh SYNOPSIS")[1].split(".Sh DESCRIPTION")[0]
    common, rest = page.split(".Sh COMMANDS")
    sections = {name.strip(): text for title, text in
                re.findall(r"^\.Ss (.*)\n((?:.*\n(?!\.S[hs]))*)", rest, re.M)
                for name in title.split(",")}
    assert list(sections) == list(COMMANDS), list(sections)
    told = lambda text: {word for line in re.findall(r"^\.It .*$", text, re.M)
                         for word in re.findall(r"Fl -([a-z-]+)", line)}
    fields = {word for line in re.findall(r"^\.It Cm ([a-z, -]+?)(?: Pq .*)?$",
                                          (manual / "elastane-job.5").read_text(), re.M)
              for word in line.split(" , ")}
    general = told(common)
    for command in COMMANDS:
        out = subprocess.run([PROGRAM, command, "--help"], capture_output=True, check=True).stdout
        helped = set(re.findall(r"^  (?:-., |    )--([a-z-]+)", out.decode(), re.M))
        assert {"json", "help"} <= helped and ("socket" in helped) == (command not in OFFLINE)
        more = fields if command in ("submit", "update") else set()
        own = told(sections[command])
        assert helped <= own | general | more, (command, helped - own - general - more)
        assert own | general <= helped | {"socket"}, (command, own - helped)
        part = re.search(rf"^\.Cm .*\b{command}\b.*\n((?:(?!\.Nm).*\n)*)", synopsis, re.M)
        assert part, (command, synopsis)
        for option in re.findall(r"Fl -([a-z-]+)", part[1]):
            assert option in helped, (command, option)


def json_failures_of_several_jobs_are_a_line_each():
    with daemon(lambda m, path, *_: problem(404, "not-found", f"no job {path}", "id")
                if "/8/" not in path else answer(202, {"id": 8, "state": "stopping"})) as d:
        run = d.run("cancel", "--json", "7", "8", "9").expect(4, '[{"id":8,"state":"stopping"}]\n')
        told = [json.loads(line) for line in run.err.splitlines()]
        assert [t["exit"] for t in told] == [4, 4] and "/9/" in told[1]["error"], told


def a_file_that_cannot_be_read_is_no_daemon_that_is_away():
    with tempfile.TemporaryDirectory() as top:
        directory = pathlib.Path(top)
        for words in (["simulate", "."], ["simulate", "--svg", "no/x.svg", "s.scn"]):
            (directory / "s.scn").write_text("cluster 1 node x 1 gpu\njob a gpus 1 work 1 gpu-hours at 0\n")
            run = Run(words, directory)
            assert run.code == 1, (words, run.code, run.err)


LONG = "waits for two gpus that a job of another user holds until it may be moved again"
NARROW = {
    "list": {"jobs": [JOB, dict(JOB, id=123456, name="a-name-of-many-letters-" * 2, reason=LONG)],
             "next": 0},
    "show": dict(JOB, reason=LONG, nodes=[{"name": f"node-{n}", "devices": 4} for n in range(9)],
                 history=[dict(JOB["history"][1], reason=LONG)] * 2),
    "wait": dict(JOB, state="done", reason=LONG),
    "explain": {"text": f"job 17 (mlp) is queued\n  why             {LONG}\n"},
    "nodes": {"nodes": [{"name": f"node-{n}", "device_type": "NVIDIA-H200", "state": "up",
                         "devices": 8, "held": 8, "free": 0, "gone": 0,
                         "jobs": [{"id": i, "devices": 1} for i in range(1000, 1008)]}
                        for n in range(3)]},
    "status": {"version": "0.1.0", "policy": "fixed-max-accum", "admission": "queue",
               "scaler": "payback", "pid": 54321, "is_blocked": True, "blocked_reason": LONG,
               "jobs": {"running": 21, "queued": 1000, "starting": 1, "paused": 3, "resizing": 2},
               "devices": {"total": 400, "held": 300, "free": 100, "gone": 0}},
    "calibrate": {"state": "failed", "reason": LONG, "time_us": 1790000000000000},
}


def answers_fit_narrow_terminals():
    for command, said in NARROW.items():
        words = COMMANDS[command] + (["--show"] if command == "calibrate" else [])
        with daemon(lambda *_: answer(200, said)) as d:
            wide = d.run(command, *words)
            for columns in (40, 60, 80, 100):
                run = d.run(command, *words, COLUMNS=str(columns))
                lines = (run.out + run.err).splitlines()
                assert lines and all(len(line) <= columns for line in lines), \
                    f"{command} at {columns}:\n{run.out}{run.err}"
                if command != "list":  # one line a job: its reason may be cut
                    shown = " ".join(run.out.split())
                    for word in LONG.split() if LONG in wide.out else ["1000:1", "1007:1"]:
                        assert word in shown, f"{command} at {columns}: no {word}\n{run.out}"


def stories_fit_narrow_terminals():
    story = HERE.parent / "golden" / "three_jobs_share_and_grow.scn"
    with tempfile.TemporaryDirectory() as top:
        words = ["simulate", "--svg", "none", str(story)]
        wide = Run(words, pathlib.Path(top)).expect(0, err="").out
        assert wide.splitlines()[-4].split() == \
            ["JOB", "STATE", "SUBMIT", "START", "END", "TOOK", "GPU-HOURS", "RESIZES"], wide
        for columns in (40, 60, 80):
            out = Run(words, pathlib.Path(top), COLUMNS=str(columns)).expect(0).out
            assert all(len(line) <= columns for line in out.splitlines()), out
            clock = lambda text: re.findall(r"^\[.*?\] \S+", text, re.M)
            assert clock(out) == clock(wide) and " TOOK" in out, out
            if columns == 80:
                assert out.splitlines()[-4:] == wide.splitlines()[-4:], out


def failures_fit_narrow_terminals_and_help_does_too():
    with daemon(lambda *_: problem(409, "state", LONG, "id")) as d:
        for words in (["show", "17"], ["show", "--bogus"], ["submit", "--", "/no/such"], ["lst"],
                      ["--help"], *([command, "--help"] for command in COMMANDS)):
            run = d.run(*words, COLUMNS="40")
            lines = (run.out + run.err).splitlines()
            bad = [line for line in lines if len(line) > 40 and " " in line.strip()]
            assert lines and not bad, (words, bad)


def colour_is_for_terminals_only():
    with daemon(always(200, {"jobs": [JOB], "next": 0})) as d:
        env = {"ELASTANE_SOCKET": d.path, "TERM": "xterm", "PATH": "/usr/bin:/bin"}
        for extra, has_colour in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
            line = ["script", "-qec", f"'{PROGRAM}' list", "/dev/null"]
            out = subprocess.run(line, env=dict(env, **extra), capture_output=True, timeout=60,
                                 stdin=subprocess.DEVNULL).stdout
            assert (b"\x1b[32mrunning\x1b[0m" in out) == has_colour, (extra, out)
        assert "\x1b" not in d.run("list", TERM="xterm").expect(0).out


def mad_answers_are_told_from_good_ones():
    bad = {
        "nothing": None,
        "no http": b"hello\r\n\r\n",
        "html": answer(200, "<html>", "text/html"),
        "cut": answer(200, JOB)[:-20],
        "wrong type": answer(200, dict(JOB, size="2")),
        "a list": answer(200, [JOB]),
        "twice": answer(200, '{"id":1,"id":2,"state":"done"}'),
        "deep": answer(200, "[" * 100000 + "]" * 100000),
        "error page": answer(500, "oops", "text/plain"),
        "bad gateway": answer(502, {"title": ""}),
        "elsewhere": b"HTTP/1.1 302 X\r\nLocation: http://elastane/v1/jobs/1\r\n"
                     b"Content-Length: 0\r\n\r\n",
    }
    for name, text in bad.items():
        with daemon(lambda *_: text) as d:
            run = d.run("show", "17")
            assert run.code in (1, 3) and run.out == "" and run.err.startswith("elastane: "), \
                (name, run.code, run.out, run.err)
            assert len(d.requests) == 1, name


def an_answer_without_end_is_cut_off():
    def handler(*_):
        yield b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
        for _ in range(80):
            yield b"x" * (1 << 20)

    with daemon(handler) as d:
        run = d.run("show", "17").expect(3, "")
        assert "larger than" in run.err, run.err


def a_slow_answer_is_waited_for():
    def handler(*_):
        for byte in (lambda text: [text[:40], text[40:200], text[200:]])(answer(200, JOB)):
            yield byte
            time.sleep(0.3)

    with daemon(handler) as d:
        d.run("show", "17", "--json").expect(0)


def a_full_disk_is_not_success():
    with daemon(always(200, {"jobs": [JOB], "next": 0})) as d:
        with open("/dev/full", "w") as full:
            done = subprocess.run([PROGRAM, "list"], env={"ELASTANE_SOCKET": d.path},
                                  stdout=full, stderr=subprocess.PIPE, timeout=60)
        assert done.returncode == 1 and b"cannot write" in done.stderr


def a_socket_without_a_daemon_is_unreachable():
    with tempfile.TemporaryDirectory() as top:
        directory = pathlib.Path(top)
        with socket.socket(socket.AF_UNIX) as stale:
            stale.bind(str(directory / "s"))
        run = Run(["list"], directory).expect(3, "")
        assert "no daemon listens at" in run.err, run.err
        long = "/tmp/" + "x" * 200
        assert "longer than" in Run(["list", "--socket", long], directory).expect(3, "").err


def a_socket_of_a_stranger_is_refused():
    if os.geteuid() != 0:
        return "needs root to give a socket away"
    with daemon(always(200, {"jobs": [], "next": 0})) as d:
        os.chown(d.path, 12345, 12345)
        d.run("list").expect(0)  # the directory is root's: whoever put it there was allowed to
        os.chmod(d.directory, 0o777)
        run = d.run("list").expect(3, "")
        assert "belongs to user 12345" in run.err and len(d.requests) == 1
    return None


def a_hung_daemon_is_given_up():
    def handler(*_):
        yield b"HTTP/1.1 200 OK\r\n"
        time.sleep(32)

    with daemon(handler) as d:
        began = time.monotonic()
        run = d.run("show", "17").expect(3, "")
        assert "did not answer within 30 seconds" in run.err, run.err
        assert time.monotonic() - began < 40


def a_daemon_that_stays_away_is_given_up():
    steps = iter([answer(200, JOB)])
    with daemon(lambda *_: next(steps, None)) as d:
        began = time.monotonic()
        run = d.run("wait", "17", "--json").expect(3, "")
        assert 55 < time.monotonic() - began < 75
        told = [json.loads(line) for line in run.err.splitlines()]
        assert [sorted(t) for t in told] == [["warning"], ["code", "error", "exit", "field"]], told


SLOW = [a_hung_daemon_is_given_up, a_daemon_that_stays_away_is_given_up]
HELPERS = {"daemon", "always", "failure", "main"}
QUICK = [f for name, f in list(globals().items())
         if getattr(f, "__module__", "") == "__main__" and not isinstance(f, type)
         and name not in HELPERS and f not in SLOW]


def main():
    tests = SLOW if "slow" in sys.argv else QUICK
    failed = 0
    print(f"1..{len(tests)}")
    for number, test in enumerate(tests, 1):
        try:
            skip = test()
            print(f"ok {number} - {test.__name__}" + (f" # SKIP {skip}" if skip else ""))
        except Exception:
            failed += 1
            print(f"not ok {number} - {test.__name__}")
            for line in traceback.format_exc().splitlines():
                print("#", line)
    return 1 if failed else 0


sys.exit(main())
