#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""script/demo from end to end, and interrupted."""

import json
import os
import pathlib
import pty
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tools")]
import tap  # noqa: E402
from daemon import Daemon  # noqa: E402

DEMO = tap.SOURCE / "script/demo"


def leftovers():
    """Of the demo's daemon, and the daemon itself."""
    state = Daemon(tap.BUILD, tap.BUILD / "demo", 4).state
    daemons = [entry.name for entry in pathlib.Path("/proc").glob("[0-9]*")
               if str(state).encode() in read(entry / "cmdline").split(b"\0")]
    return Daemon(tap.BUILD, tap.BUILD / "demo", 4).leftovers() + daemons


def read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


def start(**streams):
    return subprocess.Popen([DEMO], env={**os.environ, "BUILD": str(tap.BUILD)}, **streams)


def read_until(stream, word, seconds):
    """Reads a file descriptor until the word came; returns all that came."""
    seen = b""
    end = time.monotonic() + seconds
    while word not in seen:
        assert time.monotonic() < end, seen
        seen += os.read(stream, 65536)
    return seen


def the_demo_shows_what_it_promises(root):
    began = time.monotonic()
    done = start(stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    text, _ = done.communicate(timeout=400)
    assert done.returncode == 0, text
    assert time.monotonic() - began < 240, text
    summary = json.loads((tap.BUILD / "demo/summary.json").read_text())
    assert (summary["paced"], summary["devices"], len(summary["jobs"])) == (True, 4, 3)
    moved = 0
    for job in summary["jobs"]:
        assert job["state"] == "done" and job["accuracy"] > 0.8, job
        assert job["samples_repeated"] == 0, job
        running = [move for move in job["history"] if move["state"] == "running"]
        moved += len({move["size"] for move in running}) > 1 and \
            len({move["global_batch"] for move in running}) > 1
    assert moved >= 2, text
    assert "<svg" in (tap.BUILD / "demo/timeline.svg").read_text()
    assert not leftovers()


def an_interrupted_demo_leaves_nothing_running(root):
    terminal, inner = pty.openpty()
    demo = start(stdin=inner, stdout=inner, stderr=inner, start_new_session=True)
    os.close(inner)
    read_until(terminal, b"running", 120)
    demo.send_signal(signal.SIGINT)
    time.sleep(0.3)
    demo.send_signal(signal.SIGINT)  # impatient
    read_until(terminal, b"interrupted", 60)
    assert demo.wait(60) == 130
    os.close(terminal)
    assert not leftovers()


if __name__ == "__main__":
    sys.exit(tap.run([
        an_interrupted_demo_leaves_nothing_running,
        the_demo_shows_what_it_promises,
    ]))
