#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""stranger_test.py - jobs that were not written for us."""

import os
import signal
import sys

sys.dont_write_bytecode = True
from rig import TRAINER, Rig, run, until

# Answers a notice like a trainer that saves; says what it finds.
SAVER = """#!/usr/bin/perl
open(my $log, ">>", "log");
print $log join(" ", map { $ENV{$_} // "-" } @ARGV), "\\n";
close($log);
$SIG{TERM} = sub { exit 0 };
select(undef, undef, undef, 0.01) until -e "go";
"""


def saver(rig, names, **fields):
    (rig.top / "saver").write_text(SAVER)
    (rig.top / "saver").chmod(0o755)
    return rig.submit([rig.top / "saver", *names], level="restartable", **fields)


def resize(rig, job, size):
    answer = rig.ask("PATCH", f"/v1/jobs/{job}", {"sizes": {"min": size, "max": size}})
    assert answer.status == 200, answer
    rig.wait(job, "running", size=size)


def fixed_batch_stays_over_twenty_forced_resizes():
    with Rig(devices=4) as rig:
        rig.start()
        batches = {}
        for name, fields in (("fixed", {"batch_min": 60, "batch_max": 60}), ("none", {})):
            job = saver(rig, ["ELASTANE_GLOBAL_BATCH"], name=name, **fields)
            for n in range(20):
                resize(rig, job, 1 + (n + 1) % 4)
            rig.act(job, "cancel")
            seen = rig.wait(job)
            sizes = [m["size"] for m in seen["history"] if m["state"] == "running"]
            assert seen["resizes"] >= 20 and set(sizes) == {1, 2, 3, 4}, seen["history"]
            batches[name] = {m["global_batch"] for m in seen["history"] if m["size"] > 0}
        assert batches == {"fixed": {60}, "none": {0}}, batches
        assert set(rig.lines("log")) == {"60", "-"}, set(rig.lines("log"))


def pinned_job_is_left_alone():
    with Rig(devices=4) as rig:
        rig.start()
        job = saver(rig, ["WORLD_SIZE"], sizes={"min": 1, "max": 4})
        rig.wait(job, "running", size=4)
        resize(rig, job, 2)
        other = rig.submit("await other", sizes={"min": 2, "max": 2})
        rig.wait(other, "running")
        third = rig.submit("true", sizes={"min": 1, "max": 1})
        rig.touch("other")
        rig.wait(third, "done")
        seen = rig.job(job)
        assert (seen["state"], seen["size"], seen["resizes"]) == ("running", 2, 1), seen
        rig.touch("go")
        rig.wait(job, "done")


def every_start_of_a_job_is_one_run_in_the_tracker():
    names = ["ELASTANE_JOB_ID", "ELASTANE_RUN_ID", "WANDB_RUN_ID", "WANDB_RESUME",
             "ELASTANE_RESTART_COUNT"]
    with Rig(devices=2) as rig:
        rig.start()
        job = saver(rig, names)
        until("the first start", lambda: len(rig.lines("log")) == 1)
        for size, lines in ((2, 3), (1, 4)):
            resize(rig, job, size)
            until("the next start", lambda: len(rig.lines("log")) == lines)
        rig.touch("go")
        rig.wait(job, "done")
        rows = [line.split() for line in rig.lines("log")]
        number, run_id = rows[0][:2]
        assert number == str(job) and run_id.startswith(f"elastane-{job}-"), rows
        assert all(row[:4] == [number, run_id, run_id, "allow"] for row in rows), rows
        assert sorted({row[4] for row in rows}) == ["0", "1", "2"], rows
        other = saver(rig, names, env={"WANDB_RUN_ID": "mine"})
        rig.wait(other, "done")
        assert rig.lines("log")[-1].split()[1] != run_id
        assert rig.lines("log")[-1].split()[2:4] == ["mine", "allow"]


def r02_signal_from_outside_in_the_middle_of_a_shrink_fails_nothing():
    with Rig(devices=2) as rig:
        rig.start()
        job = rig.submit([TRAINER, "--checkpoints", rig.top / "c", "--samples", 12000, "--save-ms",
                          1500, "--step-us", 4000], level="elastic", sizes={"min": 2, "max": 2},
                         batch_min=16, batch_max=16, batch_base=16, gpu_batch=16,
                         samples_total=12000)
        until("it trains", lambda: rig.job(job)["samples_done"] > 100)
        answer = rig.ask("PATCH", f"/v1/jobs/{job}", {"sizes": {"min": 1, "max": 1}})
        assert answer.status == 200, answer
        until("a save", lambda: any("saving" in path.read_text() for path in
                                    rig.state.rglob("rank-0.log")))
        victim = [pid for pid, words in rig.processes() if b"fake_trainer" in words][-1]
        os.kill(victim, signal.SIGINT)
        seen = rig.wait(job, "running", size=1)
        assert seen["incarnation"] == 2 and seen["retries_left"] == 0, seen
        seen = rig.wait(job, "done")
        assert seen["samples_repeated"] > 0, seen  # from the checkpoint before


if __name__ == "__main__":
    run([r02_signal_from_outside_in_the_middle_of_a_shrink_fails_nothing,
         fixed_batch_stays_over_twenty_forced_resizes,
         pinned_job_is_left_alone,
         every_start_of_a_job_is_one_run_in_the_tracker])
