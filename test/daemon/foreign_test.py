#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""foreign_test.py - GPUs that somebody else uses, or that a job has not left clean, as a fake
NVML tells of them."""

import contextlib
import os
import pwd
import subprocess
import sys

sys.dont_write_bytecode = True
from rig import BUILD, Rig, run, until

UUID = "GPU-00000000-0000-0000-0000-%012d"
ME = pwd.getpwuid(os.getuid()).pw_name
QUICK = ["--patrol", "20ms", "--foreign-clean", "200ms"]
RARE = ["--patrol", "1h", "--foreign-clean", "1h"]
WHERE = "echo $CUDA_VISIBLE_DEVICES >>where"


class Gpus(Rig):
    def __init__(self, n, *options):
        super().__init__(*options, devices=None)
        self.uses = self.top / "uses"
        self.tell()
        self.env = {"LD_LIBRARY_PATH": str(BUILD / "test/daemon"), "FAKE_NVML_COUNT": str(n),
                    "FAKE_NVML_FILE": str(self.uses)}

    def tell(self, *lines):
        """What the library says from now on."""
        new = self.uses.with_suffix(".new")
        new.write_text("".join(f"{line}\n" for line in lines))
        new.rename(self.uses)

    def node(self):
        return self.get("/v1/nodes")["nodes"][0]

    def marks(self):
        return {m["device"]: m["state"] for m in self.node()["marks"]}

    def wait_marks(self, **wanted):
        wanted = {int(k[3:]): v for k, v in wanted.items()}
        try:
            until(f"marks are {wanted}", lambda: self.marks() == wanted)
        except AssertionError as e:
            raise AssertionError(f"{e}; marks are {self.node()}\n{self.log()}") from e


@contextlib.contextmanager
def stranger(**env):
    """A process that no shim has started."""
    process = subprocess.Popen(["/bin/sleep", "1000"], env={"PATH": "/usr/bin:/bin", **env})
    try:
        yield process.pid
    finally:
        process.kill()
        process.wait()


def foreign_gpu_is_shown_and_not_given_out_until_it_is_clean():
    with stranger() as pid, Gpus(2, *QUICK) as rig:
        rig.tell(f"1 pid {pid} 10240", "1 used 10240", "0 used 100")
        rig.start()
        both = rig.submit(WHERE, sizes={"min": 2, "max": 2})
        one = rig.submit(WHERE)
        rig.wait(one, "done")
        assert rig.lines("where") == [UUID % 0], rig.lines("where")
        node = rig.node()
        assert (node["free"], node["withheld"], node["held"]) == (1, 1, 0), node
        assert node["marks"] == [{"device": 1, "job": 0, "state": "foreign",
                                  "who": f"{ME}, pid {pid}, 10240 MiB",
                                  "since_us": node["marks"][0]["since_us"]}], node
        seen = rig.job(both)
        why = f"1 gpu is in use by somebody else ({ME}, pid {pid}, 10240 MiB)"
        assert (seen["state"], seen["reason"]) == ("queued", why), seen
        text = rig.get(f"/v1/jobs/{both}/explain")["text"]
        assert why in text and "not before 1 more gpu is clean" in text, text
        assert rig.get("/v1/status")["devices"]["withheld"] == 1
        rig.tell("0 used 100")
        rig.wait(both, "done")
        assert sorted(rig.lines("where")[1:]) == [UUID % 0, UUID % 1], rig.lines("where")
        assert rig.marks() == {}


def memory_of_nobody_known_is_foreign_above_the_limit():
    with Gpus(3, *QUICK, "--foreign-mem", "1G") as rig:
        rig.start()
        rig.tell("0 used 1024", "1 used 1025", "2 mute")
        rig.wait_marks(gpu1="foreign", gpu2="stuck")
        whos = [m["who"] for m in rig.node()["marks"]]
        assert whos == ["1025 MiB of no known process", "it does not answer"], whos
        rig.tell()
        rig.wait_marks()


def own_processes_are_at_home_and_leave_nothing():
    with Gpus(1, *QUICK) as rig:
        rig.start()
        job = rig.submit("echo $$ >own; env -i setsid sleep 1000 & echo $! >bare\n"
                         "until test -e end; do sleep 0.01; done; kill $!")
        rig.wait(job, "running")
        pids = until("it says who it is", lambda: rig.lines("own") + rig.lines("bare")
                     if rig.lines("bare") and rig.lines("own") else None)
        rig.tell(*[f"0 pid {pid} 4000" for pid in pids], "0 used 8000", "0 pid 999999999 7")
        with stranger() as pid:  # so that a look has surely come and gone
            rig.tell(*[f"0 pid {pid} 4000" for pid in pids], f"0 pid {pid} 4000")
            rig.wait_marks(gpu0="foreign")
        rig.tell(*[f"0 pid {pid} 4000" for pid in pids], "0 used 8000", "0 pid 999999999 7")
        rig.wait_marks()
        rig.tell(f"0 lag {rig.state}/jobs/{job}/1/exit.json 5000")
        rig.touch("end")
        rig.wait(job, "done")
        assert rig.marks() == {}, "a driver may take memory back a little late"
        assert "gpu 0 is stuck" not in rig.log(), rig.log()


def stranger_on_a_held_gpu_is_told_and_keeps_it_after_the_job():
    with stranger() as pid, Gpus(1, *QUICK) as rig:
        rig.start()
        job = rig.submit("until test -e end; do sleep 0.01; done")
        rig.wait(job, "running")
        rig.tell(f"0 pid {pid} 300")
        rig.wait_marks(gpu0="foreign")
        node = rig.node()
        assert (node["held"], node["withheld"], node["marks"][0]["job"]) == (1, 0, job), node
        rig.touch("end")
        rig.wait(job, "done")
        after = rig.submit(WHERE)
        assert (rig.node()["held"], rig.node()["withheld"]) == (0, 1)
        assert rig.job(after)["state"] == "queued"
        rig.tell()
        rig.wait(after, "done")


def gpu_that_is_not_clean_after_a_job_is_stuck():
    with Gpus(2, *QUICK) as rig:
        rig.start()
        job = rig.submit("until test -e end; do sleep 0.01; done", sizes={"min": 2, "max": 2})
        rig.wait(job, "running")
        channel = f"{rig.state}/jobs/{job}/1/channel"
        with stranger(ELASTANE_CHANNEL=channel, ELASTANE_JOB_ID=str(job)) as left:
            rig.tell(f"0 pid {left} 700", "0 used 700", "1 used 5000")
            assert rig.marks() == {}
            rig.touch("end")
            rig.wait(job, "done")
            assert rig.marks() == {0: "stuck", 1: "stuck"}, rig.marks()
            whos = [m["who"] for m in rig.node()["marks"]]
            assert whos == [f"job {job}, pid {left}, 700 MiB",
                            "5000 MiB of no known process"], whos
            next_one = rig.submit(WHERE)
            rig.tell(f"0 pid {left} 700")
            rig.wait(next_one, "done")
            assert rig.lines("where") == [UUID % 1], rig.lines("where")
            rig.wait_marks(gpu0="stuck")


def start_on_a_gpu_in_use_is_refused_and_costs_no_retry():
    with stranger() as pid, Gpus(2, *RARE) as rig:
        rig.start()
        rig.tell(f"0 pid {pid} 300")
        job = rig.submit(WHERE, retries=1)
        rig.wait(job, "done")
        assert rig.lines("where") == [UUID % 1], rig.lines("where")
        seen = rig.job(job)
        assert (seen["incarnation"], seen["retries_left"]) == (2, 1), seen
        assert rig.marks() == {0: "foreign"}
        reasons = [h["reason"] for h in seen["history"]]
        assert f"gpu 0 is foreign ({ME}, pid {pid}, 300 MiB)" in reasons, reasons


def restart_forgets_nothing_and_looks_first():
    with stranger() as pid, Gpus(2, *RARE) as rig:
        rig.tell(f"0 pid {pid} 300")
        rig.start()
        rig.wait_marks(gpu0="foreign")
        until("the mark is on the disk", lambda: rig.rows("device") == 1)
        rig.kill()
        rig.tell("1 used 900")
        rig.start()
        rig.wait_marks(gpu0="foreign", gpu1="foreign")  # clean is told after a while only
        job = rig.submit(WHERE)
        assert rig.job(job)["state"] == "queued"
        rig.kill()
        rig.tell()
        rig.start(*QUICK)
        rig.wait(job, "done")
        rig.kill()
        rig.tell("0 used 900", "1 used 900")
        rig.start(*QUICK)
        rig.wait_marks(gpu0="foreign", gpu1="foreign")
        rig.stop()
        rig.start("--devices", "2")
        rig.wait_marks()


run([foreign_gpu_is_shown_and_not_given_out_until_it_is_clean,
     memory_of_nobody_known_is_foreign_above_the_limit,
     own_processes_are_at_home_and_leave_nothing,
     stranger_on_a_held_gpu_is_told_and_keeps_it_after_the_job,
     gpu_that_is_not_clean_after_a_job_is_stuck,
     start_on_a_gpu_in_use_is_refused_and_costs_no_retry,
     restart_forgets_nothing_and_looks_first])
