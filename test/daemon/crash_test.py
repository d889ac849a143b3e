#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""crash_test.py INSTANTS POINTS - kill -9 of the daemon, at random and at its writes (R09).

At INSTANTS random moments while short jobs come and go; and at POINTS of the writes that a
fixed sequence of jobs makes (0: at every one). Whatever happens, each job that was accepted
ends exactly once, its command runs once to the end, no process is left, no device leaks."""

import os
import struct
import sys

sys.dont_write_bytecode = True
from rig import BUILD, FINAL, PATIENCE, Gone, Rig, run, seed_of, until

INSTANTS = int(sys.argv[1]) if len(sys.argv) > 1 else 20
POINTS = int(sys.argv[2]) if len(sys.argv) > 2 else 16
del sys.argv[1:]
LIBRARY = BUILD / "test/daemon/crash_at.so"


class Crowd:
    """Jobs that were handed in, by a name that nobody else has."""

    def __init__(self, rig):
        self.rig = rig
        self.count = 0
        self.accepted = set()  # names whose submit was answered
        self.asked = set()

    def submit(self, size, span):
        self.count += 1
        name = f"j{self.count}"
        self.asked.add(name)
        body = self.rig.body(f"echo begin $RANK >>{name}; sleep {span:.3f}; echo end $RANK >>{name}",
                             name, sizes={"min": size, "max": size})
        answer = self.rig.ask("POST", "/v1/jobs", body)
        if answer.status == 201:
            self.accepted.add(name)
            return answer.json["id"]
        assert answer.status == 503, answer
        return None

    def check(self, restarts=0):
        """All have ended; what was accepted is there, once, and ran once."""
        rig = self.rig
        jobs = rig.jobs()
        names = [job["name"] for job in jobs]
        assert len(names) == len(set(names)), f"twice: {names}"
        assert self.accepted <= set(names) <= self.asked, (self.accepted, names)
        for job in jobs:
            assert job["state"] == "done", job
            assert job["incarnation"] <= 1 + restarts, job
            lines = rig.lines(job["name"])
            size = job["sizes"]["min"]
            want = sorted(f"{word} {rank}" for word in ("begin", "end") for rank in range(size))
            assert sorted(lines) == want, f"{job['name']}: {lines}"


def all_ended(rig):
    live = rig.get("/v1/jobs")["jobs"]
    return not live


def r09_killed_at_random_instants_every_job_ends_exactly_once():
    rng = seed_of(sys.argv)
    with Rig() as rig:
        crowd = Crowd(rig)
        for _ in range(INSTANTS):
            rig.launch()
            moment = rng.uniform(0, 0.35)
            try:
                rig.process.stdout.readline()  # "ready", or the end of a killed one
                begun = [0.0]
                for _ in range(rng.randrange(1, 4)):
                    crowd.submit(rng.randrange(1, 3), rng.uniform(0, 0.4))
                # Asking is how we wait: the daemon works meanwhile.
                until("the moment has come", lambda b=begun: pass_time(rig, b) >= moment)
            except Gone:
                pass
            rig.kill()
        rig.start()
        until("all have ended", lambda: all_ended(rig), PATIENCE + INSTANTS)
        crowd.check()
        rig.check_books()


def pass_time(rig, begun):
    begun[0] += 0.01
    rig.get("/v1/status")
    return begun[0]


def drive(rig, crowd):
    """The fixed sequence: two jobs, one cancelled, one that waits. Begins where it was cut."""
    if "j1" not in crowd.asked:
        crowd.submit(4, 0.05)
    if "j2" not in crowd.asked:
        crowd.submit(3, 0.05)
    if "j3" not in crowd.asked:
        crowd.submit(1, 0)
    until("all have ended", lambda: all_ended(rig))


def one_life(rig, crowd, env):
    """Until the daemon is killed by the library, or all is done. Returns whether it lived."""
    process = rig.launch(env=env)
    try:
        if not process.stdout.readline():
            raise Gone("killed before it was ready")
        drive(rig, crowd)
        return True
    except Gone:
        assert process.wait(PATIENCE) == -9, f"exit {process.returncode}\n{rig.log()}"
        process.stdout.close()
        rig.process = None
        return False


def preload(rig, **more):
    return {"LD_PRELOAD": str(LIBRARY), "ELASTANE_TEST_COUNT": str(rig.top / "count"), **more,
            "ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"}


def count_writes():
    with Rig() as rig:
        assert one_life(rig, Crowd(rig), preload(rig))
        return struct.unpack("q", (rig.top / "count").read_bytes())[0]


def r09_killed_at_its_writes_every_job_ends_exactly_once():
    total = count_writes()
    assert total > 30, f"the library counts {total} writes"
    rng = seed_of(sys.argv)
    points = range(1, total + 1) if POINTS == 0 else \
        sorted(rng.sample(range(1, total + 1), min(POINTS, total)))
    print(f"# {total} writes; at {len(points)} of them")
    killed = 0
    for point in points:
        try:
            killed += crash_at(point)
        except Exception as e:
            raise AssertionError(f"at write {point} of {total}") from e
    assert killed > len(points) // 2, f"only {killed} of {len(points)} were reached"


def crash_at(point):
    with Rig() as rig:
        crowd = Crowd(rig)
        lived = one_life(rig, crowd, preload(rig, ELASTANE_TEST_CRASH_AT=str(point)))
        if lived:  # the last writes come after the last job's end, if at all
            rig.kill()
        rig.start()
        drive(rig, crowd)
        crowd.check()
        rig.check_books()
        assert all(job["state"] in FINAL for job in rig.jobs())
        return not lived


run([r09_killed_at_random_instants_every_job_ends_exactly_once,
     r09_killed_at_its_writes_every_job_ends_exactly_once])
