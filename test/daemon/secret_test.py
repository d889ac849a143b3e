#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""secret_test.py - the values of a job's environment are nowhere but where they must be."""

import os
import pathlib
import stat
import subprocess
import sys

sys.dont_write_bytecode = True
from rig import BUILD, Rig, run, until

CANARY = "canary-7f3a9c51"


def holders(rig):
    """Files of the state and logs that have the canary, and processes that have it in argv."""
    found = {str(path.relative_to(rig.top)) for path in rig.top.rglob("*")
             if path.is_file() and CANARY.encode() in path.read_bytes()}
    for entry in pathlib.Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and CANARY.encode() in (entry / "cmdline").read_bytes():
                found.add(entry.name)
        except OSError:
            pass
    return found


def said(rig, *words):
    done = subprocess.run([BUILD / "src/prog/elastane", *map(str, words)], check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, "ELASTANE_SOCKET": rig.socket})
    return done.stdout.decode()


def values_of_an_environment_are_kept_from_journal_answers_and_logs():
    with Rig() as rig:
        rig.start()
        job = rig.loop("a", env={"TOKEN": CANARY, "OTHER": "plain"})
        rig.wait(job, "running")
        kept = f"state/env/{job}"
        until("the shim to have read it", lambda: holders(rig) == {kept})
        mode = (rig.top / kept).stat().st_mode
        assert stat.S_IMODE(mode) == 0o600, oct(mode)
        assert stat.S_IMODE((rig.state / "env").stat().st_mode) == 0o700
        shown = rig.job(job)
        assert shown["env"] == ["OTHER", "PATH", "TOKEN"], shown["env"]
        told = "".join(said(rig, *words) for words in (
            ("show", job), ("show", job, "--json"), ("list", "--json"), ("explain", job),
            ("replay", rig.state), ("replay", rig.state, "--json")))
        assert CANARY not in told, told
        assert "TOKEN" in told
        rig.touch("go")
        rig.wait(job, "done")
        until("its end", lambda: not holders(rig))
        rig.stop()
        assert not holders(rig) and CANARY not in said(rig, "replay", rig.state)
        rig.start()


def every_start_finds_its_environment_after_kill_9_too():
    with Rig(devices=2) as rig:
        rig.start()
        job = rig.submit("echo $TOKEN $WORLD_SIZE >>seen; trap 'exit 0' TERM; await go & wait",
                         level="restartable", env={"TOKEN": CANARY},
                         sizes={"min": 1, "max": 1})
        rig.wait_line("seen", f"{CANARY} 1")
        rig.kill()
        rig.start()
        answer = rig.ask("PATCH", f"/v1/jobs/{job}", {"sizes": {"min": 2, "max": 2}})
        assert answer.status == 200, answer
        until("two ranks", lambda: rig.lines("seen").count(f"{CANARY} 2") == 2)
        rig.touch("go")
        rig.wait(job, "done")
        (rig.top / "seen").unlink()
        until("its end", lambda: not holders(rig))


def what_a_crash_leaves_is_removed_or_given_to_its_job():
    with Rig(devices=1) as rig:
        rig.start()
        first = rig.submit("await go")
        waits = rig.submit("echo $TOKEN >seen", env={"TOKEN": CANARY})
        rig.wait(waits, "queued")
        rig.kill()
        env = rig.state / "env"
        (env / "0123456789abcdef0123456789abcdef").write_text(f"TOKEN={CANARY}\0")
        (env / "4711").write_text(f"TOKEN={CANARY}\0")
        rig.start()
        assert sorted(path.name for path in env.iterdir()) == [str(first), str(waits)]
        rig.touch("go")
        rig.wait(waits, "done")
        assert rig.lines("seen") == [CANARY]


def refused_submit_leaves_nothing_and_names_no_vault():
    with Rig(devices=1) as rig:
        rig.start()
        body = rig.body("true", env={"TOKEN": CANARY}, sizes={"min": 2, "max": 1})
        assert rig.ask("POST", "/v1/jobs", body).status == 400
        body = rig.body("true", "x", env={"TOKEN": CANARY}, device_type="none-such")
        rig.ask("POST", "/v1/jobs", body)
        body = rig.body("true")
        body["launch"].update(env_names=["TOKEN"], vault="0123456789abcdef0123456789abcdef")
        del body["launch"]["env"]
        answer = rig.ask("POST", "/v1/jobs", body)
        assert answer.status == 400 and answer.json["field"] == "launch.vault", answer
        for job in rig.jobs(""):
            rig.act(job["id"], "cancel")
            rig.wait(job["id"])
        until("nothing left", lambda: not holders(rig))


def shim_that_never_begins_leaves_no_values():
    with Rig("--shim", "/bin/false", devices=1) as rig:
        rig.start()
        job = rig.submit("true", env={"TOKEN": CANARY})
        rig.wait(job, "failed")
        until("nothing left", lambda: not holders(rig))


if __name__ == "__main__":
    run([shim_that_never_begins_leaves_no_values,
         values_of_an_environment_are_kept_from_journal_answers_and_logs,
         every_start_finds_its_environment_after_kill_9_too,
         what_a_crash_leaves_is_removed_or_given_to_its_job,
         refused_submit_leaves_nothing_and_names_no_vault])
