#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""keep_test.py - what a state forgets in time, and what it never removes."""

import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
from rig import BUILD, Rig, run


def ended_jobs_beyond_the_limit_are_forgotten_with_their_folders_but_for_checkpoints():
    with Rig("--keep-jobs", "2", env={}) as rig:
        rig.start()
        for number in range(1, 6):
            assert rig.submit(f"echo {number}") == number
            rig.wait(number, "done")
        jobs = rig.state / "jobs"
        (jobs / "2/checkpoints/ckpt").write_text("weights")
        (jobs / "3/1/notes.txt").write_text("the user's own")
        rig.stop()  # takes a snapshot
        left = sorted(str(p.relative_to(jobs)) for p in jobs.rglob("*") if not p.is_dir())
        assert not (jobs / "1").exists(), left
        assert [p for p in left if p.startswith("2/")] == ["2/checkpoints/ckpt"], left
        assert [p for p in left if p.startswith("3/")] == ["3/1/notes.txt"], left
        assert {"4/1/rank-0.log", "5/1/rank-0.log", "5/1/exit.json"} <= set(left), left
        rig.start()
        for number in (1, 2, 3):
            assert rig.ask("GET", f"/v1/jobs/{number}").status == 404, number
        assert [job["id"] for job in rig.jobs()] in ([4, 5], [5, 4])
        assert rig.ask("GET", "/v1/jobs/4/logs").body == b"4\n"
        assert rig.submit("true") == 6  # numbers are never used again
        rig.wait(6, "done")
        rig.check_books()


def live_jobs_are_never_forgotten():
    with Rig("--keep-jobs", "1", "--keep-history", "1s") as rig:
        rig.start()
        live = rig.loop()
        rig.wait_line("log", "size 1")
        for _ in range(3):
            rig.wait(rig.submit("true"), "done")
        rig.stop()
        rig.start()
        rig.wait(live, "running", is_unconfirmed=False, incarnation=1)
        rig.touch("go")
        rig.wait(live, "done", incarnation=1)
        rig.check_books()


def zero_keeps_everything():
    with Rig("--keep-jobs", "0", "--keep-history", "0s") as rig:
        rig.start()
        for number in range(1, 4):
            rig.wait(rig.submit("true"), "done")
        rig.stop()
        rig.start()
        assert len(rig.jobs()) == 3
        rig.check_books()


def journal_whose_first_rows_are_gone_is_recovered_and_replayed():
    with Rig() as rig:
        for _ in range(3):
            rig.start()
            rig.wait(rig.submit("true"), "done")
            rig.stop()
        base = sqlite3.connect(rig.state / "state.db")
        with base:
            base.execute('DELETE FROM "row" WHERE seq < (SELECT min(seq) FROM snapshot)')
        last = base.execute('SELECT max(seq) FROM "row"').fetchone()[0]
        base.close()
        told = subprocess.run([BUILD / "src/prog/elastane", "replay", "--decide", "--check",
                               rig.state], check=True, capture_output=True, text=True).stdout
        assert f"rows up to {last}, digest" in told and ", 0 differently" in told.replace(
            "again, 0", ", 0"), told
        rig.start()
        assert len(rig.jobs()) == 3
        rig.check_books()


run([ended_jobs_beyond_the_limit_are_forgotten_with_their_folders_but_for_checkpoints,
     live_jobs_are_never_forgotten,
     zero_keeps_everything,
     journal_whose_first_rows_are_gone_is_recovered_and_replayed])
