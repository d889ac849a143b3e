#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""request_test.py - good and bad requests, rude clients, logs, long polls."""

import fcntl
import os
import socket
import struct
import sys
import termios
import threading
import time

sys.dont_write_bytecode = True
from rig import Gone, PATIENCE, Rig, run, until


def problem(answer, status, code, field=None):
    assert answer.status == status, f"wanted {status}: {answer}"
    assert answer.headers["Content-Type"] == "application/problem+json", answer.headers
    seen = answer.json
    assert seen["code"] == code and seen["status"] == status, seen
    assert field is None or seen["field"] == field, seen
    assert seen["detail"], seen
    return seen


def bad_bodies_are_refused_by_field_and_create_nothing():
    with Rig() as rig:
        rig.start()
        good = rig.body("true")
        cases = [
            ({**good, "colour": "red"}, 400, "invalid", "colour"),
            ({**good, "name": 7}, 400, "invalid", "name"),
            ({**good, "name": ""}, 400, "invalid", None),
            ({k: v for k, v in good.items() if k != "launch"}, 400, "invalid", "launch"),
            ({**good, "sizes": {"min": 0, "max": 4}}, 400, "invalid", None),
            ({**good, "sizes": {"min": 64, "max": 64}}, 422, "infeasible", "gpus"),
            ({**good, "level": "elastic", "batch_min": 7, "batch_max": 7, "batch_base": 7,
              "gpu_batch": 1, "accumulate": "never", "sizes": {"min": 4, "max": 4}},
             422, "infeasible", None),
            ({**good, "retries": 1000}, None, None, None),
        ]
        for body, status, code, field in cases:
            answer = rig.ask("POST", "/v1/jobs", body)
            if status is None:
                assert 400 <= answer.status < 500, answer
            else:
                problem(answer, status, code, field)
        for text in (b"", b"{", b"[]", b"null", b'{"name":"a","name":"b"}', b"{} {}",
                     b"\xff\xfe"):
            problem(rig.ask("POST", "/v1/jobs", text, {"Content-Type": "application/json"}),
                    400, "invalid")
        problem(rig.ask("POST", "/v1/jobs", b"[" * 100000, {"Content-Type": "application/json"}),
                413, "limit")
        problem(rig.ask("POST", "/v1/jobs", b"{}", {"Content-Type": "text/plain"}), 415,
                "invalid")
        problem(rig.ask("POST", "/v1/jobs", b"{}"), 415, "invalid")
        assert rig.jobs() == []


def body_of_ten_megabytes_is_413_whether_its_length_is_told_or_not():
    with Rig() as rig:
        rig.start()
        big = b'{"name":"' + b"x" * (10 << 20) + b'"}'
        json = {"Content-Type": "application/json"}
        problem(rig.ask("POST", "/v1/jobs", big, json), 413, "limit")
        pieces = (big[i:i + 65536] for i in range(0, len(big), 65536))
        problem(rig.ask("POST", "/v1/jobs", pieces, json), 413, "limit")
        assert rig.jobs() == []


def paths_methods_and_parameters_are_checked():
    with Rig() as rig:
        rig.start()
        problem(rig.ask("GET", "/v1/nothing"), 404, "not-found")
        problem(rig.ask("GET", "/v1/jobs/0"), 404, "not-found")
        problem(rig.ask("GET", "/v1/jobs/7"), 404, "not-found")
        problem(rig.ask("GET", "/v1/jobs/7/logs"), 404, "not-found")
        problem(rig.ask("GET", "/v1/jobs/7/wait?timeout_s=0"), 404, "not-found")
        problem(rig.ask("PATCH", "/v1/jobs/7", {}), 404, "not-found")
        problem(rig.ask("GET", "/v1/jobs?colour=red"), 400, "invalid", "colour")
        problem(rig.ask("GET", "/v1/jobs?state=red"), 400, "invalid", "state")
        problem(rig.ask("GET", "/v1/jobs?limit=0"), 400, "invalid", "limit")
        problem(rig.ask("GET", "/v1/jobs?limit=x"), 400, "invalid", "limit")
        problem(rig.ask("GET", "/v1/jobs?after=-1"), 400, "invalid", "after")
        problem(rig.ask("POST", "/v1/jobs/7/cancel", b"{}"), 400, "invalid")
        answer = rig.ask("DELETE", "/v1/jobs")
        problem(answer, 405, "invalid")
        assert answer.headers["Allow"] == "GET, POST", answer.headers


def list_pages_over_live_and_ended_jobs_in_order():
    with Rig() as rig:
        rig.start()
        jobs = []
        for i in range(6):
            jobs.append(rig.loop(f"j{i}") if i % 3 == 1 else rig.submit("true", f"j{i}"))
        for i in (0, 2, 3, 5):
            rig.wait(jobs[i], "done")
        assert [j["id"] for j in rig.jobs()] == jobs
        assert [j["id"] for j in rig.jobs("")] == [jobs[1], jobs[4]]
        assert [j["id"] for j in rig.jobs("?state=done")] == [jobs[i] for i in (0, 2, 3, 5)]
        seen, after = [], 0
        while True:
            page = rig.get(f"/v1/jobs?all=1&limit=2&after={after}")
            assert len(page["jobs"]) <= 2
            seen += [j["id"] for j in page["jobs"]]
            after = page["next"]
            if after == 0:
                break
        assert seen == jobs, seen
        assert "history" not in rig.jobs()[0]
        rig.touch("go")
        for job in jobs:
            rig.wait(job, "done")
        rig.check_books()


def wait_answers_when_the_job_ends_or_the_time_is_over():
    with Rig() as rig:
        rig.start()
        job = rig.loop()
        rig.wait(job, "running")
        assert rig.get(f"/v1/jobs/{job}/wait?timeout_s=0")["state"] == "running"
        assert rig.get(f"/v1/jobs/{job}/wait?timeout_s=1")["state"] == "running"
        answers = []
        waiter = threading.Thread(
            target=lambda: answers.append(rig.get(f"/v1/jobs/{job}/wait?timeout_s=60")))
        waiter.start()
        rig.touch("go")
        waiter.join(PATIENCE)
        assert answers and answers[0]["state"] == "done", answers
        assert rig.get(f"/v1/jobs/{job}/wait?timeout_s=60")["state"] == "done"
        problem(rig.ask("GET", f"/v1/jobs/{job}/wait?timeout_s=61"), 400, "invalid", "timeout_s")


def logs_are_told_by_rank_and_offset_and_may_be_followed():
    with Rig() as rig:
        rig.start()
        job = rig.submit("echo rank $RANK; await go; echo end", sizes={"min": 2, "max": 2})

        def log(query=""):
            answer = rig.ask("GET", f"/v1/jobs/{job}/logs{query}")
            assert answer.status == 200, answer
            return answer.body

        until("rank 1 has written", lambda: log("?rank=1") == b"rank 1\n")
        assert log("?rank=0&offset=5") == b"0\n"
        assert log("?offset=7") == b"" and log("?offset=1000000") == b""
        problem(rig.ask("GET", f"/v1/jobs/{job}/logs?rank=2"), 404, "not-found", "rank")
        followed = []
        follower = threading.Thread(target=lambda: followed.append(log("?follow=1")))
        follower.start()
        rig.touch("go")
        follower.join(PATIENCE)
        assert followed == [b"rank 0\nend\n"], followed
        rig.wait(job, "done")
        assert log("?rank=1&offset=7") == b"end\n"
        problem(rig.ask("GET", f"/v1/jobs/{job}/logs?rank=2"), 404, "not-found", "rank")


def follower_does_not_hold_a_stop_up():
    with Rig() as rig:
        rig.start()
        job = rig.loop()
        rig.wait(job, "running")
        errors = []
        started = threading.Event()

        def follow():
            started.set()
            try:
                rig.ask("GET", f"/v1/jobs/{job}/logs?follow=1")
                rig.ask("GET", f"/v1/jobs/{job}/wait?timeout_s=60")
            except Exception as e:  # pylint: disable=broad-except
                errors.append(e)

        followers = [threading.Thread(target=follow) for _ in range(3)]
        for f in followers:
            f.start()
        started.wait()
        rig.stop()
        for f in followers:
            f.join(PATIENCE)
        rig.start()
        rig.touch("go")
        rig.wait(job, "done")


def explain_says_why_a_job_waits():
    with Rig(devices=1) as rig:
        rig.start()
        first = rig.loop("first")
        rig.wait(first, "running")
        second = rig.submit("true", "second")
        text = rig.get(f"/v1/jobs/{second}/explain")["text"]
        assert "needs 1 gpu" in text, text
        assert rig.get(f"/v1/jobs/{first}/explain")["id"] == first
        rig.touch("go")
        rig.wait(second, "done")


def explain_tells_of_a_job_that_is_paused_or_has_ended():
    with Rig(devices=1) as rig:
        rig.start()
        job = rig.loop("held", level="restartable")
        rig.wait_line("log", "size 1")
        rig.act(job, "pause")
        rig.wait(job, "paused")
        answer = until("the pause is told", lambda: (
            lambda seen: seen if "stopping, 1 gpu: paused" in seen["text"] else None)(
                rig.get(f"/v1/jobs/{job}/explain")))
        assert f"elastane resume {job}" in answer["text"] and answer["state"] == "paused", answer
        rig.act(job, "cancel")
        bad = rig.submit("exit 3", "bad")
        rig.wait(bad, "failed")
        answer = rig.get(f"/v1/jobs/{bad}/explain")
        assert (answer["id"], answer["state"], answer["cause"]) == (bad, "failed", "user-error")
        for part in (f"job {bad} (bad) has failed\n", "status 3", "after 0s", "starting, 1 gpu: "):
            assert part in answer["text"], (part, answer["text"])
        assert "was cancelled" in rig.get(f"/v1/jobs/{job}/explain")["text"]
        problem(rig.ask("GET", "/v1/jobs/99/explain"), 404, "not-found", "id")


def slow_client_is_cut_off_and_disturbs_nobody():
    with Rig() as rig:
        rig.start()
        slow = socket.socket(socket.AF_UNIX)
        slow.connect(rig.socket)
        slow.sendall(b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n")
        begun = time.monotonic()
        rig.wait(rig.submit("true"), "done")
        slow.settimeout(PATIENCE)
        assert slow.recv(1000) == b"", "an answer to half a request"
        assert time.monotonic() - begun < 30
        slow.close()


def two_thousand_idle_connections_do_not_shut_others_out():
    with Rig() as rig:
        rig.start()
        crowd = []
        try:
            for _ in range(2000):
                one = socket.socket(socket.AF_UNIX)
                one.setblocking(False)
                until("there is room in the queue", lambda: one.connect_ex(rig.socket) == 0)
                crowd.append(one)
            assert len(crowd) == 2000, len(crowd)
            # None of them has to time out first, which takes 10 s.
            assert rig.get("/v1/status", timeout=5)["pid"] == rig.process.pid
            rig.ask("POST", "/v1/jobs", rig.body("true"), timeout=5)
            # The longest idle ones had to go, and the youngest are there.
            crowd[0].setblocking(True)
            assert crowd[0].recv(1) == b""
            crowd[-1].setblocking(True)
            crowd[-1].sendall(b"GET /v1/status HTTP/1.1\r\nHost: x\r\n\r\n")
            assert crowd[-1].recv(12) == b"HTTP/1.1 200"
        finally:
            for one in crowd:
                one.close()
        rig.wait(rig.submit("true"), "done")


def idle_connections_of_no_shim_take_no_descriptors():
    with Rig() as rig:
        rig.start()
        crowd = []
        try:
            for _ in range(5000):
                one = socket.socket(socket.AF_UNIX)
                one.setblocking(False)
                until("there is room in the queue",
                      lambda: one.connect_ex(str(rig.state / "shim.sock")) == 0)
                crowd.append(one)
            assert rig.get("/v1/status", timeout=5)["pid"] == rig.process.pid
            rig.wait(rig.submit("true"), "done")
            until("most were closed",
                  lambda: len(os.listdir(f"/proc/{rig.process.pid}/fd")) < 400)
        finally:
            for one in crowd:
                one.close()


def unread(sock):
    """Bytes that the other end has not taken yet."""
    return struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, bytes(4)))[0]


def requests_that_wait_are_bounded_and_the_next_hears_503():
    with Rig() as rig:
        rig.start()
        job = rig.submit("await go")
        rig.wait(job, "running")
        ask = f"GET /v1/jobs/{job}/wait?timeout_s=60 HTTP/1.1\r\nHost: x\r\n\r\n".encode()
        crowd = []
        try:
            for _ in range(1024):
                one = socket.socket(socket.AF_UNIX)
                one.settimeout(PATIENCE)
                one.connect(rig.socket)
                one.sendall(ask)
                crowd.append(one)

            until("all are read, so that none is idle", lambda: all(unread(one) == 0 for one in crowd))

            def answer():
                try:
                    return rig.ask("GET", "/v1/status")
                except Gone:  # the refusal came before the question
                    return None

            refused = until("the next is refused", lambda: (a := answer()) and a.status == 503 and a)
            assert refused.json["code"] == "again" and refused.headers["Retry-After"], refused
            rig.touch("go")
            for one in crowd:
                assert one.recv(12) == b"HTTP/1.1 200"
        finally:
            for one in crowd:
                one.close()
        rig.wait(job, "done")


def garbage_is_answered_with_400_or_cut_off():
    with Rig() as rig:
        rig.start()
        for text in (b"\0" * 1000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"A" * 100000,
                     b"GET /v1/jobs HTTP/1.1\r\n" + b"X: y\r\n" * 5000 + b"\r\n",
                     b"POST /v1/jobs HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                     b"GET /v1/jobs/%00 HTTP/1.1\r\nHost: x\r\n\r\n"):
            one = socket.socket(socket.AF_UNIX)
            one.settimeout(PATIENCE)
            one.connect(rig.socket)
            try:
                one.sendall(text)
                one.shutdown(socket.SHUT_WR)
                while one.recv(65536):
                    pass
            except (BrokenPipeError, ConnectionResetError):
                pass
            one.close()
            assert rig.get("/v1/status")["pid"] == rig.process.pid


def socket_is_for_its_user_alone():
    with Rig() as rig:
        rig.start()
        assert os.stat(rig.socket).st_mode & 0o777 == 0o600
        assert os.stat(rig.state / "shim.sock").st_mode & 0o777 == 0o600
        assert os.stat(rig.state).st_mode & 0o777 == 0o700
        job = rig.submit("true")
        rig.wait(job, "done")
        folder = rig.state / f"jobs/{job}/1"
        assert os.stat(folder).st_mode & 0o777 == 0o700
        assert os.stat(folder / "order.json").st_mode & 0o777 == 0o600


def another_user_is_denied():
    if os.geteuid() != 0:
        return "only root can be somebody else"
    with Rig() as rig:
        rig.start()
        os.chmod(rig.socket, 0o666)
        os.chmod(rig.top, 0o755)
        pid = os.fork()
        if pid == 0:
            os.setgid(12345)
            os.setuid(12345)
            answer = rig.ask("GET", "/v1/status")
            os._exit(0 if answer.status == 403 and answer.json["code"] == "denied" else 1)
        assert os.waitpid(pid, 0)[1] == 0
    return None


def idle_daemon_uses_no_time():
    with Rig() as rig:
        rig.start()
        rig.wait(rig.submit("true"), "done")
        until("the shim has left", lambda: not rig.processes())

        def ticks():
            words = open(f"/proc/{rig.process.pid}/stat", encoding="ascii").read().split()
            return int(words[13]) + int(words[14])

        def switches():
            text = open(f"/proc/{rig.process.pid}/status", encoding="ascii").read()
            return sum(int(line.split()[1]) for line in text.splitlines()
                       if "ctxt_switches" in line)

        rig.get("/v1/status")
        time.sleep(0.3)  # the connection's end
        before, begun = ticks(), switches()
        time.sleep(1)  # a span is what is measured here
        assert ticks() - before <= 1 and switches() - begun <= 3, (ticks() - before,
                                                                   switches() - begun)


run([bad_bodies_are_refused_by_field_and_create_nothing,
     body_of_ten_megabytes_is_413_whether_its_length_is_told_or_not,
     paths_methods_and_parameters_are_checked,
     list_pages_over_live_and_ended_jobs_in_order,
     wait_answers_when_the_job_ends_or_the_time_is_over,
     logs_are_told_by_rank_and_offset_and_may_be_followed,
     follower_does_not_hold_a_stop_up,
     explain_says_why_a_job_waits,
     explain_tells_of_a_job_that_is_paused_or_has_ended,
     slow_client_is_cut_off_and_disturbs_nobody,
     two_thousand_idle_connections_do_not_shut_others_out,
     idle_connections_of_no_shim_take_no_descriptors,
     requests_that_wait_are_bounded_and_the_next_hears_503,
     garbage_is_answered_with_400_or_cut_off,
     socket_is_for_its_user_alone,
     another_user_is_denied,
     idle_daemon_uses_no_time])
