#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""version_test.py - shims of another version: the previous one is adopted, so is a later one."""

import os
import pathlib
import signal
import socket
import struct
import sys

sys.dont_write_bytecode = True
from rig import PATIENCE, Rig, run, until

MAGIC = 0x414C4531
NOW = 2
HELLO, BEAT, ADOPT, STOP, EXIT, EXIT_ACK = 1, 6, 9, 13, 5, 14
RUNNING, ENDED = 1, 5
STOPPED = 2


class Shim:
    """Says what a shim of some version says; hears what the daemon answers."""

    def __init__(self, rig, job, version, head=1, size=1):
        self.who = (job, 1, 1)
        self.head = head
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(PATIENCE)
        self.sock.connect(str(rig.state / "shim.sock"))
        self.heads = set()
        self.send(HELLO, struct.pack("<IIiii", version, RUNNING, os.getpid(), size, size) +
                  struct.pack("<Iiiiq128s", 0, 0, -1, 0, -1, b""), head=1)

    def send(self, kind, fields, head=None):
        payload = struct.pack("<III", *self.who) + fields
        self.sock.sendall(struct.pack("<IHHII", MAGIC, head or self.head, kind, len(payload), 0)
                          + payload)

    def take(self, n):
        data = b""
        while len(data) < n:
            more = self.sock.recv(n - len(data))
            assert more, "the daemon hung up"
            data += more
        return data

    def hear(self, kind):
        """The fields of the next frame of this kind."""
        while True:
            magic, version, number, size, _ = struct.unpack("<IHHII", self.take(16))
            assert magic == MAGIC
            self.heads.add(version)
            payload = self.take(size)
            if number == kind:
                return payload[12:]


def lead_a_job_to_its_end(version, head):
    with Rig() as rig:
        rig.start()
        job = rig.loop()
        rig.wait_line("log", "size 1")
        rig.wait(job, "running")
        real = rig.shim(job)
        os.kill(real, signal.SIGSTOP)  # another speaks for it
        try:
            shim = Shim(rig, job, version, head)
            assert struct.unpack("<I", shim.hear(ADOPT)) == (NOW,)
            shim.send(BEAT, struct.pack("<Iiqqqq", RUNNING, 1, 7, 4711, 0, 0))
            until("its beat is shown", lambda: rig.job(job)["samples_done"] == 4711)
            rig.act(job, "cancel")
            shim.hear(STOP)
            shim.send(EXIT, struct.pack("<Iiiiq128s", STOPPED, 0, -1, 0, -1, b""))
            shim.hear(EXIT_ACK)
            rig.wait(job, "cancelled", incarnation=1)
        finally:
            os.kill(real, signal.SIGCONT)
        until("the real one was refused and has left", lambda: not rig.processes())
        rig.check_books()
        return shim.heads


def shim_of_the_previous_version_is_adopted_and_spoken_to_in_it():
    assert lead_a_job_to_its_end(NOW - 1, NOW - 1) == {NOW - 1}


def shim_of_this_version_is_spoken_to_in_it():
    assert lead_a_job_to_its_end(NOW, NOW) == {NOW}


def shim_of_a_later_version_is_adopted_after_a_step_back():
    assert lead_a_job_to_its_end(NOW + 1, NOW) == {NOW}


def shim_that_says_no_version_is_of_the_first():
    assert lead_a_job_to_its_end(0, 1) == {1}


def frame_of_a_version_that_nobody_agreed_on_ends_the_connection():
    with Rig() as rig:
        rig.start()
        job = rig.loop()
        rig.wait(job, "running")
        shim = Shim(rig, job, NOW + 1)
        shim.hear(ADOPT)
        shim.send(BEAT, struct.pack("<Iiqqqq", RUNNING, 1, 7, 4711, 0, 0), head=NOW + 1)
        until("it was hung up on", lambda: not shim.sock.recv(4096))
        rig.touch("go")
        rig.wait(job, "done", incarnation=1)
        rig.check_books()


def version_of_this_test_is_that_of_the_tree():
    header = pathlib.Path(os.environ.get("ELASTANE_SOURCE", ".")) / "src/wire/frame.h"
    assert f"#define FRAME_VERSION        {NOW} " in header.read_text()


run([shim_of_the_previous_version_is_adopted_and_spoken_to_in_it,
     shim_of_this_version_is_spoken_to_in_it,
     shim_of_a_later_version_is_adopted_after_a_step_back,
     shim_that_says_no_version_is_of_the_first,
     frame_of_a_version_that_nobody_agreed_on_ends_the_connection,
     version_of_this_test_is_that_of_the_tree])
