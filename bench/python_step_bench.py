#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""python_step_bench.py SHIM LIBRARY - what Elastane costs a training step from Python.

As step_bench.c: the bench is the trainer of a job of its own, under the real shim and
without a daemon. Each figure is the median of many steps; the cost of the clock is in it.
Prints one JSON line a figure:

  python_step      Session.step() alone
  python_calls     all that elastane.torch calls per step: the batch, its parts, the indices
                   of 64 samples, one measured micro-batch, one all-reduce, step()
  python_alone     the same without a daemon"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
STEPS = 20000
BATCH = 64
DATASET = 60000
LIMIT_US = 20  # DESIGN section 9


def print_figure(name, times_ns):
    print(json.dumps({"bench": name, "value": round(statistics.median(times_ns) / 1e3, 2),
                      "unit": "us", "better": "less", "limit": LIMIT_US}), flush=True)


def calls(session):
    batch = elastane.next_batch(session.plan, DATASET, session.samples_done)
    elastane.passes(batch)
    elastane.indices(1, DATASET, batch.position + batch.own_offset, batch.own_samples)
    session.measured_micro(batch.own_samples, 1000000)
    session.measured_comm(1000, 1000)
    return session.step(batch.samples)


def measure(body):
    """Times of STEPS calls of body(), nanoseconds."""
    times = []
    for _ in range(STEPS):
        began = time.perf_counter_ns()
        body()
        times.append(time.perf_counter_ns() - began)
    return times


def train(is_alone):
    with elastane.Session(BATCH) as session:
        assert session.mode == (elastane.ALONE if is_alone else elastane.CONNECTED)
        session.resume(0)
        if is_alone:
            print_figure("python_alone", measure(lambda: calls(session)))
            return
        print_figure("python_step", measure(lambda: session.step(BATCH)))
        print_figure("python_calls", measure(lambda: calls(session)))
        session.done()


def run_job(shim, library, root):
    """This program again, as the only rank of a job; prints what it printed."""
    (root / "order.json").write_text(json.dumps({
        "format": 1, "job": 1, "incarnation": 1, "generation": 1, "name": "bench",
        "uid": os.getuid(), "gid": os.getgid(), "level": "elastic", "size": 1,
        "global_batch": BATCH, "micro_batch": BATCH, "accumulation": 1, "batch_base": BATCH,
        "lr_rule": "none", "grace_us": 5000000, "device_kind": "cpu",
        "ranks": [{"rank": 0, "device": 0}], "cwd": str(root),
        "env": [f"{key}={value}" for key, value in os.environ.items()],
        "argv": ["env", f"ELASTANE_LIBRARY={library}", sys.executable, __file__, "--rank"]}))
    subprocess.run([shim, "--dir", root, "--leave-after", "5"], check=True,
                   stdout=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while not (root / "exit.json").exists() and time.monotonic() < until:
        time.sleep(0.05)
    text = (root / "rank-0.log").read_text()
    print(text, end="")
    return 0 if text.count("bench") == 2 else 1


def main():
    global elastane
    if len(sys.argv) == 3:
        sys.argv[1:] = map(os.path.abspath, sys.argv[1:])
        os.environ["ELASTANE_LIBRARY"] = sys.argv[2]
    sys.path.insert(0, str(ROOT / "python"))
    import elastane
    if sys.argv[1:] == ["--rank"]:
        return train(is_alone=False)
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    train(is_alone=True)
    with tempfile.TemporaryDirectory(prefix="elastane-bench-") as root:
        return run_job(sys.argv[1], sys.argv[2], pathlib.Path(root))


if __name__ == "__main__":
    sys.exit(main())
