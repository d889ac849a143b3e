# SPDX-License-Identifier: Apache-2.0
"""A real elastaned with real shims on a state directory of its own, for tests.

A test waits for events (an answer, a state, a line in a file), never for a time; deadlines
are only there to fail. `Rig` is a context: at its end the daemon is stopped, and it is an
error when a process of a job is left behind."""

import http.client
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
import traceback

BUILD = pathlib.Path(os.environ.get("ELASTANE_BUILD", "build")).resolve()
DAEMON = BUILD / "src/prog/elastaned"
SHIM = BUILD / "src/prog/elastane-shim"
TRAINER = BUILD / "test/fake_trainer"
PATIENCE = float(os.environ.get("ELASTANE_TEST_PATIENCE", "60"))
FINAL = ("done", "failed", "cancelled", "dropped")


# What restartable jobs run: one process that hears notices, unlike a shell that waits for a
# child. It says its size, works until the file `go` is there, and leaves when it is told to.
LOOP = r"""#!/usr/bin/perl
use IO::Handle;
sub say_it { open(my $log, ">>", "log"); $log->autoflush(1); print $log "$_[0]
"; }
$SIG{TERM} = $ENV{DEAF} ? "IGNORE" : sub {
    select(undef, undef, undef, $ENV{SLOW}) if $ENV{SLOW};
    say_it("stop");
    exit 0;
};
say_it("size $ENV{WORLD_SIZE}");
select(undef, undef, undef, 0.01) until -e "go";
say_it("end");
"""
AWAIT = "await() { while [ ! -e $1 ]; do sleep 0.02; done; }"


def until(what, condition, patience=PATIENCE):
    """Asks again and again; the last answer is in the failure."""
    end = time.monotonic() + patience
    pause = 0.005
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not in time: {what}; last answer: {value!r}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)


class Gone(Exception):
    """The daemon did not answer."""


class Connection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Answer:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return f"{self.status} {self.body[:300]!r}"


class Rig:
    def __init__(self, *options, devices=4, env=None):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="elastane-"))
        self.state = self.top / "state"
        self.socket = str(self.top / "s")
        self.options = ["--node-name", "n1", "--min-run", "0s", "--min-gap", "0s",
                        *([] if devices is None else ["--devices", str(devices)]), *options]
        self.env = env or {}
        self.process = None
        self.lives = 0
        (self.top / "loop").write_text(LOOP)
        (self.top / "loop").chmod(0o755)

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        left = []
        try:
            if kind is None:
                left = until_gone(self.processes)  # a daemon lets the last shims go
                if self.process:
                    self.stop()
        finally:
            self.wipe()
        if kind is not None:
            sys.stdout.write("".join(f"# {line}\n" for line in self.log().splitlines()[-40:]))
        self.remove_sockets()
        shutil.rmtree(self.top, ignore_errors=True)
        assert not left, f"processes left behind: {left}"

    def remove_sockets(self):
        """Those of a state on a network home, which lie outside of it."""
        note = self.state / "run"
        if note.is_file():
            there = pathlib.Path(note.read_text().strip())
            assert "elastane" in there.parent.name, there
            shutil.rmtree(there, ignore_errors=True)

    def launch(self, *options, env=None):
        """Starts it and does not wait."""
        self.lives += 1
        log = (self.top / "daemon.log").open("ab")
        self.process = subprocess.Popen(
            [DAEMON, "--state", self.state, "--socket", self.socket, *self.options, *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, cwd="/",
            env={**os.environ, **self.env, **(env or {})})
        log.close()
        return self.process

    def start(self, *options, env=None):
        process = self.launch(*options, env=env)
        line = process.stdout.readline().decode()
        assert line.startswith("ready "), \
            f"not ready: {line!r}, exit {process.wait()}\n{self.log()}"
        return self

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.process = None

    def stop(self):
        """The clean way; the exit status must be 0."""
        process, self.process = self.process, None
        process.terminate()
        status = process.wait(PATIENCE)
        process.stdout.close()
        assert status == 0, f"exit status {status}\n{self.log()}"

    def log(self):
        path = self.top / "daemon.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def processes(self):
        """(pid, command line) of all that belongs to this state: shims and their ranks."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            if self.process and int(entry.name) == self.process.pid:
                continue
            try:
                words = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            except OSError:
                continue
            if os.fsencode(f"{self.state}/") in words:
                found.append((int(entry.name), words[:200].replace(b"\0", b" ")))
        return found

    def shim(self, job, incarnation=1):
        """Its pid, as it wrote it down before it started anything. (For an instant the program
        that the daemon called stands in the list of processes, too, under the same name.)"""
        path = self.state / "jobs" / str(job) / str(incarnation) / "started.json"
        return json.loads(path.read_text())["shim_pid"]

    def wipe(self):
        """Ends whatever a failed test has left."""
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None
        for _ in range(50):
            found = self.processes()
            if not found:
                return
            for pid, _ in found:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            time.sleep(0.02)

    def ask(self, method, path, body=None, headers=None, timeout=PATIENCE):
        connection = Connection(self.socket, timeout)
        headers = dict(headers or {})
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            headers.setdefault("Content-Type", "application/json")
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())
        except (OSError, http.client.HTTPException) as e:
            raise Gone(repr(e)) from e
        finally:
            connection.close()

    def get(self, path, **more):
        answer = self.ask("GET", path, **more)
        assert answer.status == 200, f"GET {path}: {answer}"
        return answer.json

    def job(self, job):
        return self.get(f"/v1/jobs/{job}")

    def jobs(self, query="?all=1"):
        return self.get(f"/v1/jobs{query}")["jobs"]

    def body(self, command, name="job", **fields):
        """A job that runs a shell command (or a list of words)."""
        argv = ["/bin/sh", "-c", f"{AWAIT}\n{command}"] if isinstance(command, str) else list(command)
        launch = {"argv": [str(word) for word in argv], "cwd": str(fields.pop("cwd", self.top)),
                  "env": {"PATH": "/usr/bin:/bin", **fields.pop("env", {})}}
        return {"name": name, "launch": launch, "grace_us": 5_000_000, **fields}

    def submit(self, command, name="job", **fields):
        answer = self.ask("POST", "/v1/jobs", self.body(command, name, **fields))
        assert answer.status == 201, f"submit: {answer}"
        return answer.json["id"]

    def loop(self, name="loop", **fields):
        return self.submit([self.top / "loop"], name, **{"level": "restartable", **fields})

    def act(self, job, verb):
        answer = self.ask("POST", f"/v1/jobs/{job}/{verb}")
        assert answer.status == 202, f"{verb}: {answer}"
        return answer.json

    def wait(self, job, *states, **fields):
        """Until the job is in one of the states (default: a final one) with these fields."""
        states = states or FINAL

        def is_there():
            seen = self.job(job)
            if seen["state"] in states and all(seen[k] == v for k, v in fields.items()):
                return seen
            is_over = seen["state"] in FINAL and seen["state"] not in states
            assert not is_over, f"job {job} is {seen['state']} ({seen['reason']}), not {states}"
            self.last = seen
            return None

        return until(f"job {job} in {states} {fields}", is_there)

    def lines(self, name):
        path = self.top / name
        return path.read_text().splitlines() if path.exists() else []

    def wait_line(self, name, line):
        return until(f"{line!r} in {name}", lambda: line in self.lines(name))

    def touch(self, name):
        (self.top / name).touch()

    def facts(self, kind):
        base = sqlite3.connect(f"file:{self.state}/state.db?mode=ro", uri=True)
        try:
            return base.execute("SELECT job, json FROM fact WHERE kind = ? ORDER BY id",
                                (kind,)).fetchall()
        finally:
            base.close()

    def rows(self, kind):
        """How many rows of the journal are of this kind."""
        base = sqlite3.connect(f"file:{self.state}/state.db?mode=ro", uri=True)
        try:
            return base.execute('SELECT count(*) FROM "row" WHERE kind = ?', (kind,)).fetchone()[0]
        finally:
            base.close()

    def check_books(self):
        """All jobs have ended: each exactly once, and no device is held."""
        ends = [job for job, _ in self.facts("end")]
        assert len(ends) == len(set(ends)), f"a job ended twice: {ends}"
        node = self.get("/v1/nodes")["nodes"]
        held = sum(n["held"] for n in node)
        assert held == 0 and all(not n["jobs"] for n in node), f"devices leaked: {node}"
        live = self.get("/v1/jobs")["jobs"]
        assert not live, f"still live: {live}"
        check_moves(self.facts("history"))


def check_moves(facts):
    """Generations only rise."""
    newest = {}
    for job, text in facts:
        generation = json.loads(text)["generation"]
        assert generation >= newest.get(job, 0), f"job {job}: generation {generation} is old"
        newest[job] = generation


def until_gone(processes, patience=15):
    """The last shims leave when their exit was acknowledged."""
    end = time.monotonic() + patience
    while processes() and time.monotonic() < end:
        time.sleep(0.02)
    return processes()


def seed_of(argv):
    seed = int(os.environ.get("ELASTANE_TEST_SEED", time.time_ns() % 1_000_000))
    print(f"# seed {seed} (ELASTANE_TEST_SEED)")
    return random.Random(seed)


def run(tests):
    """Runs functions as TAP; the name of a test is that of its function."""
    wanted = sys.argv[1:]
    tests = [t for t in tests if not wanted or t.__name__ in wanted]
    print(f"1..{len(tests)}", flush=True)
    failed = 0
    for number, test in enumerate(tests, 1):
        name = test.__name__.replace("_", " ")
        begun = time.monotonic()
        try:
            skipped = test()
        except Exception:
            failed += 1
            print(f"not ok {number} - {name}")
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="",
                  flush=True)
            continue
        note = f" # SKIP {skipped}" if skipped else ""
        print(f"# {time.monotonic() - begun:.1f} s")
        print(f"ok {number} - {name}{note}", flush=True)
    sys.exit(1 if failed else 0)
