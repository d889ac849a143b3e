#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""loader_test.py FAKE TORCH - a stop notice must not kill data loaders: that many stops of trainers
with four loader processes under `sh -c`, with a fake trainer and with PyTorch's DataLoader. Each
must save."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from harness import Daemon, Job, TRAINER, run  # noqa: E402

GRACE = 20_000_000
COUNTS = [int(word) for word in sys.argv[1:]]
sys.argv[1:] = []
LOADER = HERE.parent / "support/loader_trainer.py"


def stops(root, count, command, ready):
    daemon = Daemon(root)
    for number in range(1, count + 1):
        job = Job(root, daemon, ["sh", "-c", f"{command}; status=$?; exit $status"],
                  level="restartable", incarnation=number, job=5)
        assert job.start() == "started", job.stderr
        daemon.accept()
        daemon.wait("started")
        job.wait_line(ready)
        daemon.send("stop", grace_us=GRACE)
        end = daemon.wait("exit")
        assert (end["cause"], end["exit_code"], end["text"]) == ("stopped", 0, ""), (number, end)
        assert job.lines("saved") and not job.lines("child got term"), (number, job.log())
        assert not job.processes()
        daemon.send("exit-ack")
        daemon.wait_end()


def r05_a_fake_trainer_with_four_loaders_saves_at_every_stop(root):
    stops(root, COUNTS[0], f"{TRAINER} --plain --children 4 --checkpoints {root}/c", "step")


def r05_a_torch_loader_with_four_workers_saves_at_every_stop(root):
    stops(root, COUNTS[1], f"/usr/bin/python3 {LOADER}", "batch")


if __name__ == "__main__":
    tests = [r05_a_fake_trainer_with_four_loaders_saves_at_every_stop]
    if COUNTS[1] > 0:
        tests.append(r05_a_torch_loader_with_four_workers_saves_at_every_stop)
    sys.exit(run(tests))
