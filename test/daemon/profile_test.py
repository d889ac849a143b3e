#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""profile_test.py - how jobs are measured: probe, passive, off."""

import json
import sqlite3
import sys

sys.dont_write_bytecode = True
from rig import TRAINER, Rig, run, until

PLANNED = 64  # samples of a pass


def trainer(rig, name, **fields):
    """An elastic job that cuts its steps as far as it is told to, and measures each pass."""
    job = rig.submit([TRAINER, "--probe", "--step-us", "40000", "--env", "--dataset",
                      100 * PLANNED], name, level="elastic", sizes={"min": 1, "max": 1}, batch_min=PLANNED,
                     batch_max=2 * PLANNED, gpu_batch=2 * PLANNED, **fields)
    rig.wait(job, "running")
    return job


def log(rig, job):
    return rig.ask("GET", f"/v1/jobs/{job}/logs").body.decode().splitlines()


def parts(rig, job):
    return [int(line.split()[1]) for line in log(rig, job) if line.startswith("part ")]


def models(rig, job):
    """The micro-batches of each model that the job got, from the journal."""
    base = sqlite3.connect(f"file:{rig.state}/state.db?mode=ro", uri=True)
    try:
        rows = base.execute("SELECT input FROM \"row\" WHERE kind = 'model' ORDER BY seq")
        inputs = [json.loads(text) for text, in rows]
    finally:
        base.close()
    return [[point["micro_batch"] for point in one["model"]["proc"]]
            for one in inputs if one["job"] == job]


def measured(rig, job):
    return until("a model", lambda: (s := rig.job(job))["model_source"] == "measured" and s)


def trained(rig, job, steps):
    """So many steps of it are over and told."""
    return until(f"{steps} steps", lambda: (s := rig.job(job))["samples_done"] >=
                 steps * PLANNED and s["rate_milli"] > 0 and s)


def end(rig, job):
    rig.act(job, "cancel")
    rig.wait(job, "cancelled")


def a_probed_job_is_measured_by_cut_steps():
    with Rig(devices=1) as rig:
        rig.start()
        job = trainer(rig, "probed")
        assert rig.job(job)["profile"] == "probe"
        measured(rig, job)
        assert {16, 32, 64} <= set(parts(rig, job)), parts(rig, job)
        assert {16, 32} & set(models(rig, job)[0]), models(rig, job)
        end(rig, job)


def a_passive_job_is_measured_by_whole_steps():
    with Rig(devices=1) as rig:
        rig.start()
        job = trainer(rig, "passive", profile="passive")
        seen = measured(rig, job)
        assert seen["profile"] == "passive", seen
        # It tries nothing else, so nothing else is waited for.
        assert seen["active_us"] < 15_000_000, seen["active_us"]
        assert models(rig, job)[0] == [PLANNED], models(rig, job)
        assert "env ELASTANE_PROFILE=passive" in log(rig, job)
        assert set(parts(rig, job)) == {PLANNED}, parts(rig, job)
        assert rig.job(job)["resizes"] == 0, "one point says nothing for another batch"
        end(rig, job)


def a_job_whose_profile_is_off_gets_no_model():
    with Rig(devices=2) as rig:
        rig.start()
        job = trainer(rig, "same-1", profile="off")
        other = trainer(rig, "same-2", profile="passive")
        measured(rig, other)  # by then the first would have had one as well
        seen = trained(rig, job, 100)
        assert seen["model_source"] == "prior" and not models(rig, job), seen
        text = rig.get(f"/v1/jobs/{job}/explain")["text"]
        assert "(not measured: profile off)" in text, text
        after = trainer_waits(rig, "same-3", profile="off")
        assert rig.job(after)["model_source"] == "prior", "the family's"
        assert rig.job(trainer_waits(rig, "same-4"))["model_source"] == "family"
        for one in (after, after + 1, job, other):
            end(rig, one)


def trainer_waits(rig, name, **fields):
    job = rig.submit([TRAINER, "--probe"], name, level="elastic", sizes={"min": 2, "max": 2},
                     **fields)
    assert rig.job(job)["state"] == "queued"
    return job


def an_update_says_what_holds_at_once():
    with Rig(devices=1) as rig:
        rig.start()
        job = trainer(rig, "updated", profile="off")
        trained(rig, job, 50)
        answer = rig.ask("PATCH", f"/v1/jobs/{job}", {"profile": "passive"})
        assert answer.status == 200 and not answer.json["warnings"], answer
        measured(rig, job)
        answer = rig.ask("PATCH", f"/v1/jobs/{job}", {"profile": "probe"})
        assert "at their next start" in answer.json["warnings"][0], answer
        assert rig.job(job)["model_source"] == "measured"
        answer = rig.ask("PATCH", f"/v1/jobs/{job}", {"profile": "off"})
        assert len(answer.json["warnings"]) == 2, answer
        assert rig.job(job)["model_source"] == "prior"
        n = len(models(rig, job))
        trained(rig, job, rig.job(job)["samples_done"] // PLANNED + 100)
        assert rig.job(job)["model_source"] == "prior" and len(models(rig, job)) == n
        answer = rig.ask("PATCH", f"/v1/jobs/{job}", {"profile": "passive"})
        assert rig.job(job)["model_source"] in ("family", "measured")
        measured(rig, job)  # what was heard before is not taken for told
        answer = rig.ask("PATCH", f"/v1/jobs/{job}", {"profile": "never"})
        assert answer.status == 400 and "probe, passive, off" in answer.json["detail"], answer
        end(rig, job)


if __name__ == "__main__":
    run([
        a_probed_job_is_measured_by_cut_steps,
        a_passive_job_is_measured_by_whole_steps,
        a_job_whose_profile_is_off_gets_no_model,
        an_update_says_what_holds_at_once,
    ])
