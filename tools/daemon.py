# SPDX-License-Identifier: Apache-2.0
"""A private elastaned for scripts and tests: start it, ask it, end it and all of its jobs.

    with Daemon(build, directory, devices=4, options=["--min-gap", "5s"]) as daemon:
        job = daemon.submit("--name", "a", "--gpus", "1..4", "--", "python3", "train.py")
        daemon.job(job)["state"]

Everything lives under `directory`, or under a directory in /tmp when the paths of the sockets
would be too long. Leaving the block cancels what still runs, ends the daemon, and looks for
processes left behind."""

import http.client
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import time

FINAL = ("done", "failed", "cancelled", "dropped")
SOCKET_PATH_MAX = 90  # bytes; an address has 107, and names are added


class Failure(Exception):
    """Something did not work; the text says what."""


class NotNow(Failure):
    """The same question may be answered later (503)."""


class _Connection(http.client.HTTPConnection):
    def __init__(self, path, timeout):
        super().__init__("localhost", timeout=timeout)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


class Daemon:
    """directory: what was in its `state` before is removed. options: more of elastaned's."""

    def __init__(self, build, directory, devices, options=()):
        self.build = pathlib.Path(build).resolve()
        self.directory = pathlib.Path(directory).resolve()
        self.directory.mkdir(parents=True, exist_ok=True)
        self.elsewhere = None
        home = self.directory
        if len(os.fsencode(home / "elastane.sock")) > SOCKET_PATH_MAX:
            self.elsewhere = home = pathlib.Path(tempfile.mkdtemp(prefix="elastane-"))
        self.state = home / "state"
        self.socket = str(home / "elastane.sock")
        self.log_path = self.directory / "elastaned.log"
        self.argv = [self.program("elastaned"), "--state", self.state, "--socket",
                     self.socket, "--devices", str(devices), *options]
        self.process = None

    def program(self, name):
        return self.build / "src/prog" / name

    def __enter__(self):
        self._sweep()  # what an earlier run was not let to clean up
        shutil.rmtree(self.state, ignore_errors=True)
        try:
            self.start()
        except BaseException:
            self.end()
            raise
        return self

    def __exit__(self, *_):
        self.end()

    def start(self):
        """Starts the daemon on the state as it is; returns when it answers."""
        self.state.mkdir(mode=0o700, exist_ok=True)
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(self.argv, stdin=subprocess.DEVNULL,
                                            stdout=log, stderr=log, start_new_session=True)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            try:
                return self.get("/v1/status")
            except (OSError, http.client.HTTPException):
                if self.process.poll() is not None:
                    break
                time.sleep(0.02)
        raise Failure(f"elastaned did not start; see {self.log_path}:\n{self.log_tail()}")

    def log_tail(self):
        return "\n".join(self.log_path.read_text(errors="replace").splitlines()[-15:])

    def ask(self, method, path, timeout=30):
        connection = _Connection(self.socket, timeout)
        try:
            connection.request(method, path)
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        if answer.status >= 300:
            kind = NotNow if answer.status == 503 else Failure
            raise kind(f"{method} {path}: {answer.status} {body.decode(errors='replace')}")
        return json.loads(body)

    def get(self, path):
        """Asks again while the daemon says "not now": its disk is busy."""
        until = time.monotonic() + 120
        while True:
            try:
                return self.ask("GET", path)
            except NotNow:
                if time.monotonic() > until:
                    raise
            time.sleep(0.5)

    def job(self, number):
        return self.get(f"/v1/jobs/{number}")

    def command(self, *words):
        """The command line, as a person would call it; returns what it printed."""
        done = subprocess.run([self.program("elastane"), *map(str, words)],
                              env={**os.environ, "ELASTANE_SOCKET": self.socket}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        if done.returncode != 0:
            raise Failure(f"elastane {words[0]}: {done.stderr.strip()}")
        return done.stdout

    def submit(self, *words):
        """Returns the job's number."""
        return int(self.command("submit", *words))

    def log_of(self, number, rank=0):
        connection = _Connection(self.socket, 30)
        try:
            connection.request("GET", f"/v1/jobs/{number}/logs?rank={rank}")
            return connection.getresponse().read().decode(errors="replace")
        finally:
            connection.close()

    def wait(self, number, timeout):
        """Until the job is in a final state; returns it. Failure after timeout seconds."""
        until = time.monotonic() + timeout
        while True:
            job = self.job(number)
            if job["state"] in FINAL:
                return job
            if time.monotonic() > until:
                raise Failure(f"job {number} is still {job['state']}: {job['reason']}")
            time.sleep(0.1)

    def end(self):
        """Cancels, ends, sweeps; never raises for what is gone already. A second Ctrl-C does
        not cut it short."""
        before = {kind: signal.signal(kind, signal.SIG_IGN)
                  for kind in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
        try:
            self._end()
        finally:
            for kind, handler in before.items():
                signal.signal(kind, handler)

    def _end(self):
        if self.process and self.process.poll() is None:
            self._cancel_all()
            self.process.terminate()
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._sweep()
        if self.elsewhere:
            shutil.rmtree(self.elsewhere, ignore_errors=True)

    def _cancel_all(self):
        try:
            live = [job["id"] for job in self.get("/v1/jobs")["jobs"]
                    if job["state"] not in FINAL]
            for number in live:
                self.ask("POST", f"/v1/jobs/{number}/cancel")
            until = time.monotonic() + 15
            while time.monotonic() < until and \
                    any(self.job(number)["state"] not in FINAL for number in live):
                time.sleep(0.1)
        except (OSError, Failure, http.client.HTTPException):
            pass  # what is left is swept

    def leftovers(self):
        """Pids of shims and ranks under our state directory."""
        channel = f"ELASTANE_CHANNEL={self.state}/".encode()
        folder = f"{self.state}/".encode()
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                names = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            is_shim = words[0].endswith(b"elastane-shim") and \
                any(word.startswith(folder) for word in words)
            if is_shim or any(name.startswith(channel) for name in names):
                found.append(int(entry.name))
        return found

    def _sweep(self):
        for pid in self.leftovers():
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
