# SPDX-License-Identifier: Apache-2.0
"""The daemon's half of the shim protocol, for tests: a second implementation, written after
docs/protocol.md and not after src/wire, so that the two check each other.

A test waits for events (a message, a line of a rank's log, an exit), never for a time; the
timeouts are only there to fail."""

import json
import os
import pathlib
import select
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback

BUILD = pathlib.Path(os.environ.get("ELASTANE_BUILD", "build")).resolve()
SHIM = BUILD / "src/prog/elastane-shim"
TRAINER = BUILD / "test/fake_trainer"
LAUNCHER = pathlib.Path(__file__).resolve().parents[1] / "support/fake_launcher.py"
FORMS = ("rank", "node", "once")
# Who starts the ranks: the shim, or a launcher as the job's command. `--launch FORM`.
FORM = sys.argv[sys.argv.index("--launch") + 1] if "--launch" in sys.argv else "rank"
assert FORM in FORMS, FORM
PATIENCE = float(os.environ.get("ELASTANE_TEST_PATIENCE", "60"))

MAGIC = 0x414c4531
VERSION = 1  # the previous one, on purpose (docs/protocol.md, 2)
WHO = [("job", "I"), ("incarnation", "I"), ("generation", "I")]
EXIT = [("cause", "I"), ("exit_code", "i"), ("rank", "i"), ("micro_batch", "i"),
        ("samples_done", "q"), ("text", "128s")]
SHIM_KINDS = {
    1: ("hello", WHO + [("version", "I"), ("phase", "I"), ("pid", "i"), ("size", "i"),
                        ("ranks_up", "i")] + EXIT),
    2: ("started", WHO + [("size", "i")]),
    3: ("saved", WHO + [("step", "q"), ("samples_done", "q"), ("manifest", "64s")]),
    4: ("save-failed", WHO + [("samples_done", "q"), ("text", "128s")]),
    5: ("exit", WHO + EXIT),
    6: ("beat", WHO + [("phase", "I"), ("ranks_up", "i"), ("step", "q"),
                       ("samples_done", "q"), ("time_ns", "q"), ("comm_bytes", "q"),
                       ("rate_milli", "q"), ("samples_total", "q"), ("text", "128s"),
                       ("warm_up_us", "q")]),
    7: ("observe", WHO + [("size", "i"), ("rank", "i"), ("observed", "I"),
                          ("micro_batch", "i"), ("count", "i"), ("time_ns", "q"),
                          ("is_noisy", "i"), ("accumulation", "i"), ("comm_bytes", "q")]),
    8: ("oom", WHO + [("rank", "i"), ("micro_batch", "i")]),
    9: ("adopt", WHO + [("version", "I")]),
    10: ("refuse", WHO + [("text", "128s")]),
    11: ("save", WHO + [("grace_us", "q")]),
    12: ("go-on", WHO),
    13: ("stop", WHO + [("grace_us", "q")]),
    14: ("exit-ack", WHO),
}
RANK_KINDS = {
    64: ("hello", [("rank", "i"), ("generation", "I"), ("version", "I"), ("pid", "i")]),
    72: ("plan", [("rank", "i"), ("generation", "I")]),
    78: ("turned-away", [("text", "128s")]),
}
PHASES = ["starting", "running", "saving", "waiting", "stopping", "ended"]
CAUSES = ["none", "done", "stopped", "user-error", "killed", "node-lost", "start-failed",
          "lost", "time-limit", "out-of-memory", "device-busy"]


def failure(cause, exit_code, rank=-1):
    """What the exit says of a failed rank. A launcher tells no more than that it failed."""
    return (cause, exit_code, rank) if FORM == "rank" else ("user-error", 1, -1)


class Frames:
    """Frames over a stream socket."""

    def __init__(self, sock, kinds):
        self.sock = sock
        self.kinds = kinds
        self.numbers = {name: number for number, (name, _) in kinds.items()}
        self.bytes = b""

    def send(self, name, **fields):
        number = self.numbers[name]
        payload = b"".join(
            struct.pack("<" + code, fields.get(key, b"" if code.endswith("s") else 0))
            for key, code in self.kinds[number][1])
        self.sock.sendall(struct.pack("<IHHII", MAGIC, VERSION, number, len(payload), 0)
                          + payload)

    def receive(self, until):
        """The next message as a dict; None at the end of the stream."""
        while True:
            if len(self.bytes) >= 16:
                magic, version, number, size, zero = struct.unpack("<IHHII", self.bytes[:16])
                assert magic == MAGIC and version == VERSION and zero == 0, "not a frame"
                if len(self.bytes) >= 16 + size:
                    payload = self.bytes[16:16 + size]
                    self.bytes = self.bytes[16 + size:]
                    return self.decode(number, payload)
            ready, _, _ = select.select([self.sock], [], [], max(0, until - time.monotonic()))
            if not ready:
                raise AssertionError("no message came in time")
            try:
                chunk = self.sock.recv(65536)
            except ConnectionResetError:
                chunk = b""
            if not chunk:
                return None
            self.bytes += chunk

    def decode(self, number, payload):
        name, fields = self.kinds[number]
        message = {"kind": name}
        at = 0
        for key, code in fields:
            size = struct.calcsize("<" + code)
            if at + size > len(payload):
                break
            value = struct.unpack_from("<" + code, payload, at)[0]
            if code.endswith("s"):
                value = value.split(b"\0", 1)[0].decode()
            message[key] = value
            at += size
        if "phase" in message:
            message["phase"] = PHASES[message["phase"]]
        if "cause" in message:
            message["cause"] = CAUSES[message["cause"]]
        return message


class Daemon:
    """Listens where shims dial."""

    def __init__(self, directory):
        self.path = str(pathlib.Path(directory) / "shim.sock")
        self.listener = None
        self.frames = None
        self.beats = []
        self.up()

    def up(self):
        if os.path.exists(self.path):
            os.unlink(self.path)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.path)
        os.chmod(self.path, 0o777)
        self.listener.listen(16)

    def down(self):
        """As after kill -9: every connection is gone, the path stays."""
        self.listener.close()
        if self.frames:
            self.frames.sock.close()
        self.frames = None

    def accept(self, answer="adopt", timeout=None):
        """Waits for a shim, hears its hello, answers. Returns the hello."""
        until = time.monotonic() + (timeout or PATIENCE)
        self.listener.settimeout(timeout or PATIENCE)
        sock, _ = self.listener.accept()
        self.frames = Frames(sock, SHIM_KINDS)
        hello = self.frames.receive(until)
        assert hello and hello["kind"] == "hello", hello
        self.who = {key: hello[key] for key in ("job", "incarnation", "generation")}
        if answer:
            self.send(answer)
        return hello

    def send(self, name, **fields):
        self.frames.send(name, **{**self.who, **fields})

    def wait(self, *names, timeout=None):
        """The next message of one of these kinds; beats and observations are kept aside."""
        until = time.monotonic() + (timeout or PATIENCE)
        while True:
            message = self.frames.receive(until)
            assert message is not None, f"the shim hung up; waiting for {names}"
            if message["kind"] == "beat":
                self.beats.append(message)
            if message["kind"] in names:
                return message
            assert message["kind"] in ("beat", "observe", "started", "oom"), \
                f"{message} came; waiting for {names}"

    def wait_end(self, timeout=None):
        """Until the shim has hung up."""
        until = time.monotonic() + (timeout or PATIENCE)
        while self.frames.receive(until) is not None:
            pass


class Job:
    """One incarnation: its directory, its shim, its logs."""

    number = 0

    def __init__(self, root, daemon, command, size=1, level="elastic", **fields):
        Job.number += 1
        self.job = fields.pop("job", 10 + Job.number)
        self.dir = pathlib.Path(root) / f"{self.job}.{fields.get('incarnation', 1)}"
        self.dir.mkdir(mode=0o700)
        batch = fields.pop("batch", 8)
        form = fields.pop("form", FORM)
        if form != "rank":
            fields["launch"] = form
            # A copy where the job's user may be another one and read it all the same.
            launcher = shutil.copy(LAUNCHER, pathlib.Path(root) / "launcher.py")
            command = [launcher, "{nproc}", *command]
        order = {
            "format": 1, "job": self.job, "incarnation": 1, "generation": 1, "name": "t",
            "uid": os.getuid(), "gid": os.getgid(), "level": level, "size": size,
            "global_batch": batch, "micro_batch": -(-batch // size) if batch else 0,
            "accumulation": 1 if batch else 0, "batch_base": batch, "lr_rule": "linear",
            "grace_us": 20_000_000, "device_kind": "cpu",
            "ranks": [{"rank": r, "device": r} for r in range(size)],
            "argv": [str(word) for word in command], "cwd": str(self.dir),
            "env": [f"{key}={value}" for key, value in os.environ.items()],
        }
        if daemon:
            order["daemon_socket"] = daemon.path
        order.update(fields)
        self.order = order
        (self.dir / "order.json").write_text(json.dumps(order))

    def start(self, leave_after=20):
        """Starts the shim; returns the word that it printed."""
        done = subprocess.run([SHIM, "--dir", self.dir, "--leave-after", str(leave_after)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=PATIENCE, check=False)
        self.status = done.returncode
        self.stderr = done.stderr
        return done.stdout.strip()

    def log(self, rank=0):
        path = self.dir / f"rank-{rank}.log"
        return path.read_text() if path.exists() else ""

    def lines(self, begins, rank=0):
        return [line for line in self.log(rank).splitlines() if line.startswith(begins)]

    def wait_line(self, begins, rank=0, count=1, timeout=None):
        """Until the rank's log has `count` lines that begin so; returns the last of them."""
        def look():
            found = self.lines(begins, rank)
            return found[count - 1] if len(found) >= count else None
        return wait_for(look, f"'{begins}' of rank {rank}", timeout, self)

    def exit_record(self):
        path = self.dir / "exit.json"
        return json.loads(path.read_text()) if path.exists() else None

    def wait_exit_record(self, timeout=None):
        return wait_for(self.exit_record, "exit.json", timeout, self)

    def started(self):
        return json.loads((self.dir / "started.json").read_text())

    def processes(self):
        """Living processes that belong to this incarnation, by their environment."""
        marker = f"ELASTANE_CHANNEL={self.dir.resolve()}/channel".encode()
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and \
                        marker in (entry / "environ").read_bytes().split(b"\0"):
                    found.append(int(entry.name))
            except OSError:
                pass
        return found

    def shim_is_alive(self):
        return state_of(self.started()["shim_pid"]) not in (None, "Z")

    def wait_shim_gone(self, timeout=None):
        wait_for(lambda: not self.shim_is_alive(), "the shim's end", timeout, self)

    def dial(self, rank=0, generation=1):
        """A rank of our own, for talking out of turn. Returns the answer to its hello."""
        sock = socket.socket(socket.AF_UNIX)
        sock.connect(str(self.dir / "channel"))
        self.guest = Frames(sock, RANK_KINDS)
        self.guest.send("hello", rank=rank, generation=generation, version=1,
                        pid=os.getpid())
        return self.guest.receive(time.monotonic() + PATIENCE)


def state_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (OSError, IndexError):
        return None


def wait_for(look, what, timeout=None, job=None):
    """Polls for something that has no descriptor to wait on (a line, a file)."""
    until = time.monotonic() + (timeout or PATIENCE)
    while True:
        found = look()
        if found:
            return found
        if time.monotonic() > until:
            shim_log = job.dir / "shim.log" if job else None
            tail = shim_log.read_text()[-3000:] if shim_log and shim_log.exists() else ""
            raise AssertionError(f"waited in vain for {what}\n{tail}")
        select.select([], [], [], 0.005)


def run(tests):
    """Runs the functions (each gets a directory of its own) and prints TAP."""
    words = [word for word in sys.argv[1:] if word != "--launch" and word not in FORMS]
    chosen = [t for t in tests if not words or any(word in t.__name__ for word in words)]
    under = "" if FORM == "rank" else f" under --launch {FORM}"
    print(f"1..{len(chosen)}", flush=True)
    failed = 0
    for number, test in enumerate(chosen, 1):
        root = tempfile.mkdtemp(prefix="elastane-test-")
        try:
            test(pathlib.Path(root))
            print(f"ok {number} {test.__name__}{under}", flush=True)
        except Exception:
            failed += 1
            print(f"not ok {number} {test.__name__}{under}")
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
            for log in sorted(pathlib.Path(root).rglob("shim.log")):
                for line in log.read_text().splitlines()[-40:]:
                    print(f"# {line}", flush=True)
        finally:
            clean(root)
    return 1 if failed else 0


def clean(root):
    """Ends what a failed test left, by its recorded pid, then removes the directory."""
    for path in pathlib.Path(root).rglob("started.json"):
        pid = json.loads(path.read_text())["shim_pid"]
        try:
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
            if str(path.parent).encode() in words:
                os.kill(pid, 9)
        except OSError:
            pass
    shutil.rmtree(root, ignore_errors=True)
