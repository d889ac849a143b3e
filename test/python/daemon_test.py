#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch jobs under the real elastaned, resized on request."""

import collections
import json
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tools")]
import tap  # noqa: E402
from daemon import FINAL, Daemon, Failure  # noqa: E402

DATASET = 600
EPOCHS = 4
TRAINER = tap.SOURCE / "test/support/small_trainer.py"
COMMAND = ["env", f"ELASTANE_LIBRARY={tap.LIBRARY}", f"PYTHONPATH={tap.SOURCE / 'python'}",
           "/usr/bin/python3", TRAINER, "--dataset", DATASET, "--epochs", EPOCHS]
PATIENCE = 240


def until(daemon, number, is_reached):
    """Polls the job until is_reached(job); returns it. Failure when it ends before."""
    end = time.monotonic() + PATIENCE
    while True:
        job = daemon.job(number)
        if is_reached(job):
            return job
        if job["state"] in FINAL or time.monotonic() > end:
            raise Failure(f"{job['state']}: {job['history']}\n{daemon.log_of(number)}")
        time.sleep(0.05)


def numbers(text, begins):
    return [tuple(map(int, line.split()[1:])) for line in text.splitlines()
            if line.startswith(begins + " ")]


def r06_r07_a_job_that_grows_and_shrinks_sees_each_sample_once(root):
    with Daemon(tap.BUILD, root, 4, ["--min-run", "1s", "--min-gap", "1s"]) as daemon:
        number = daemon.submit("--name", "t", "--level", "elastic", "--gpus", "1", "--batch",
                               "12..24", "--gpu-batch", "12", "--base-batch", "12", "--proc",
                               "6:0.0100,12:0.0102", "--comm", "2:0.0005",
                               "--accumulate", "never", "--lr-rule", "linear", "--samples",
                               EPOCHS * DATASET, "--", *COMMAND)
        plans = []
        done = 0
        for size in (1, 2, 1):
            daemon.command("update", number, "--gpus", size)
            job = until(daemon, number, lambda job: job["size"] == size and
                        job["state"] == "running" and job["samples_done"] > done)
            done = job["samples_done"]
            plans.append((job["size"], job["global_batch"]))
        assert plans == [(1, 12), (2, 24), (1, 12)], plans
        job = daemon.wait(number, PATIENCE)
        assert job["state"] == "done", daemon.log_of(number)
        logs = [daemon.log_of(number, rank) for rank in range(2)]
    seen = collections.Counter((epoch, index) for log in logs
                               for epoch, *ids in numbers(log, "part") for index in ids)
    want = collections.Counter((e, i) for e in range(EPOCHS) for i in range(DATASET))
    assert seen == want, (list((want - seen).items())[:5], list((seen - want).items())[:5])
    steps = [int(line.split()[1]) for line in logs[0].splitlines() if line.startswith("step")]
    assert steps == sorted(set(steps)) and steps[-1] == EPOCHS * DATASET
    assert numbers(logs[0], "resume")[0] == (0,)
    assert job["samples_repeated"] == 0, job
    assert not daemon.leftovers()


def r16_a_resize_whose_save_fails_is_called_off(root):
    with Daemon(tap.BUILD, root, 4, ["--min-run", "1s", "--min-gap", "1s"]) as daemon:
        number = daemon.submit("--name", "t", "--level", "elastic", "--gpus", "1..2",
                               "--batch", "12..24", "--gpu-batch", "12", "--samples",
                               1000 * DATASET, "--", *COMMAND, "--epochs", 1000,
                               "--file-limit", 1000)
        until(daemon, number, lambda job: job["samples_done"] > 0)
        size = daemon.job(number)["size"]
        daemon.command("update", number, "--gpus", 3 - size)
        until(daemon, number, lambda job: any(
            "cannot save" in move["reason"] for move in job["history"]))
        job = until(daemon, number, lambda job: job["state"] == "running")
        assert job["size"] == size, job
        until(daemon, number, lambda later: later["samples_done"] > job["samples_done"])
        assert daemon.log_of(number).count("resume") == 1, "it was never ended"


def an_unmodified_torchrun_script_goes_1_2_1(root):
    last = 500
    with Daemon(tap.BUILD, root, 2, ["--min-run", "1s", "--min-gap", "1s"]) as daemon:
        # -r and -t: torchrun of torch 1.13 needs them on Python 3.11.
        number = daemon.submit("--launch", "node", "--level", "restartable", "--gpus", "1",
                               "--cwd", root, "--", "/usr/bin/python3", "-m",
                               "torch.distributed.run", "-r", "9:1", "-t", "9:1", "--nnodes",
                               "{nnodes}", "--nproc_per_node", "{nproc}", "--node_rank",
                               "{node_rank}", "--master_addr", "{master_addr}",
                               "--master_port", "{master_port}",
                               tap.SOURCE / "test/support/torchrun_trainer.py", last)
        for starts, size in enumerate((1, 2, 1), 1):
            daemon.command("update", number, "--gpus", size)
            until(daemon, number,
                  lambda _: daemon.log_of(number).count("world ") == starts)
        job = daemon.wait(number, PATIENCE)
        log = daemon.log_of(number)
        assert job["state"] == "done", log
        assert not daemon.leftovers()
    starts = [tuple(map(int, line.split()[1::2])) for line in log.splitlines()
              if line.startswith("world")]
    assert [size for size, _ in starts] == [1, 2, 1], log
    assert [int(line.split()[1]) for line in log.splitlines() if line.startswith("saved")] == \
        [step for _, step in starts[1:]], log  # nothing done twice
    steps = (root / "steps").read_text().split()
    assert list(map(int, steps)) == list(range(1, last + 1)), steps[-5:]


def an_example_needs_eight_lines_at_most(root):
    for name in ("mlp", "cnn"):
        text = (tap.SOURCE / f"examples/{name}.py").read_text().splitlines()
        marked = [line for line in text if line.endswith("# <-")]
        assert 0 < len(marked) <= 8, marked
        words = ("elastane.", "run.", "part.", "batch.")
        touched = [line for line in text if any(word in line for word in words)]
        assert set(touched) <= set(marked), touched


def calibration_prints_its_table(root):
    done = subprocess.run(["/usr/bin/python3", "-m", "elastane.calibrate", "--sizes", "2",
                           "--bytes", "4096,65536", "--repeat", "3"], check=True, text=True,
                          env={"PYTHONPATH": str(tap.SOURCE / "python"), "PATH": "/usr/bin"},
                          stdout=subprocess.PIPE)
    found = json.loads(done.stdout)
    assert (found["sizes"], found["bytes"]) == ([2], [4096, 65536]), found
    assert all(isinstance(n, int) and n > 0 for n in found["time_ns"][0]), found


def the_daemon_calibrates_its_machine_once_at_a_time_and_keeps_the_table(root):
    with Daemon(tap.BUILD, root, 3) as daemon:
        assert daemon.get("/v1/calibrate")["state"] == "none"
        daemon.ask("POST", "/v1/calibrate")
        try:
            daemon.ask("POST", "/v1/calibrate")
            raise AssertionError("a second one at the same time was taken")
        except Failure as refusal:
            assert ": 409 " in str(refusal) and "running already" in str(refusal), refusal
        end = time.monotonic() + PATIENCE
        while (table := daemon.ask("GET", "/v1/calibrate?timeout_s=20"))["state"] == "running":
            assert time.monotonic() < end, table
        assert table["state"] == "done", table
        assert {point["size"] for point in table["points"]} == {2, 3}, table
        assert all(point["time_ns"] > 0 for point in table["points"]), table
        daemon.process.kill()
        daemon.process.wait()
        daemon.start()
        assert daemon.get("/v1/calibrate")["points"] == table["points"]


if __name__ == "__main__":
    sys.exit(tap.run([
        r06_r07_a_job_that_grows_and_shrinks_sees_each_sample_once,
        r16_a_resize_whose_save_fails_is_called_off,
        an_unmodified_torchrun_script_goes_1_2_1,
        an_example_needs_eight_lines_at_most,
        calibration_prints_its_table,
        the_daemon_calibrates_its_machine_once_at_a_time_and_keeps_the_table,
    ]))
