#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench/accuracy.py [--build build] [--epochs 3] [--seeds 3] [--write]

Does a job that was resized end as accurate as one that was not? Trains each example alone at
its base batch, and as an elastic job of a real elastaned that is made to change its size and
its global batch several times, with the same seeds. Not paced; about ten minutes on two cores.

Prints a table; --write puts it into docs/benchmarks.md. Status 1 when the mean over the seeds
of an example is more than one point below that of the runs alone."""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools"))
from daemon import FINAL, Daemon, Failure  # noqa: E402

EXAMPLES = ["mlp", "cnn"]
BASE_BATCH = 128
EPOCH = 60000
# A stated model under which the largest batch of a size is the best, so that size and batch
# change together and every run takes the same way.
PROC, COMM = "32:0.033,128:0.071", "2:0.002,4:0.004"
# What the size is to be from this share of the training on.
SIZES = [(0.0, 1), (0.15, 4), (0.4, 2), (0.55, 3), (0.75, 1)]
BOUND_POINTS = 1.0
MARKS = ("<!-- accuracy: from here on by bench/accuracy.py --write -->",
         "<!-- accuracy: up to here -->")


def command(example, options, seed, result):
    library = options.build.resolve() / "src/libelastane/libelastane.so.1"
    return ["env", f"PYTHONPATH={ROOT / 'python'}", f"ELASTANE_LIBRARY={library}",
            "/usr/bin/python3", "-u", str(ROOT / f"examples/{example}.py"), "--seed",
            str(seed), "--epochs", str(options.epochs), "--batch", str(BASE_BATCH),
            "--result", str(result)]


def train_alone(example, options, seed, result):
    words = command(example, options, seed, result)
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL,
                   env={**os.environ, "OMP_NUM_THREADS": "1"})
    return json.loads(result.read_text())["accuracy"]


def train_elastic(daemon, example, options, seed, result):
    """Returns the accuracy and the plans that were trained with, in order."""
    total = options.epochs * EPOCH
    number = daemon.submit("--name", f"{example}-{seed}", "--level", "elastic", "--gpus", "1",
                           "--batch", f"{BASE_BATCH}..{4 * BASE_BATCH}", "--gpu-batch",
                           BASE_BATCH, "--proc", PROC, "--comm", COMM, "--base-batch",
                           BASE_BATCH, "--accumulate", "never", "--lr-rule", "linear",
                           "--samples", total, "--", *command(example, options, seed, result))
    wishes = SIZES[1:]
    until = time.monotonic() + 600
    while True:
        job = daemon.job(number)
        if job["state"] in FINAL:
            break
        if wishes and job["state"] == "running" and \
                job["samples_done"] >= wishes[0][0] * total:
            daemon.command("update", number, "--gpus", wishes.pop(0)[1])
        if time.monotonic() > until:
            raise Failure(f"{example} is not over after 10 minutes: {job['reason']}")
        time.sleep(0.2)
    if job["state"] != "done":
        raise Failure(f"{example} ended as {job['state']}:\n{daemon.log_of(number)}")
    plans = []
    for move in job["history"]:
        plan = (move["size"], move["global_batch"])
        if move["state"] == "running" and plan not in plans[-1:]:
            plans.append(plan)
    if len({batch for _, batch in plans}) < 3:
        raise Failure(f"{example} trained with {plans} only")
    return json.loads(result.read_text())["accuracy"], plans


def measure(options):
    """(example, seed, alone, elastic, plans) of all runs."""
    home = options.build / "accuracy"
    rows = []
    with Daemon(options.build, home, 4, ["--min-run", "1s", "--min-gap", "1s"]) as daemon:
        for example in EXAMPLES:
            for seed in range(options.seeds):
                alone = train_alone(example, options, seed, home / "alone.json")
                elastic, plans = train_elastic(daemon, example, options, seed,
                                               home / f"{example}-{seed}.json")
                rows.append((example, seed, alone, elastic, plans))
                print(f"{example} seed {seed}: alone {100 * alone:.2f} %, elastic "
                      f"{100 * elastic:.2f} %, {plans}", file=sys.stderr, flush=True)
    return rows


def table(rows):
    lines = ["| example | seed | alone, % | elastic, % | difference | sizes x batches |",
             "|---|---|---|---|---|---|"]
    for example in EXAMPLES:
        own = [row for row in rows if row[0] == example]
        for _, seed, alone, elastic, plans in own:
            path = ", ".join(f"{size} x {batch}" for size, batch in plans)
            lines.append(f"| {example} | {seed} | {100 * alone:.2f} | {100 * elastic:.2f} | "
                         f"{100 * (elastic - alone):+.2f} | {path} |")
        alone, elastic = (statistics.mean(row[i] for row in own) for i in (2, 3))
        lines.append(f"| **{example}** | mean | {100 * alone:.2f} | {100 * elastic:.2f} | "
                     f"{100 * (elastic - alone):+.2f} | |")
    return "\n".join(lines)


def worst_loss_points(rows):
    """The largest mean loss of an example, points; below 0: all gained."""
    return max(statistics.mean(100 * (row[2] - row[3]) for row in rows if row[0] == example)
               for example in EXAMPLES)


def write(text):
    path = ROOT / "docs/benchmarks.md"
    before, rest = path.read_text().split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    path.write_text(f"{before}{MARKS[0]}\n\n{text}\n\n{MARKS[1]}{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="into docs/benchmarks.md")
    options = parser.parse_args()
    try:
        rows = measure(options)
    except (Failure, subprocess.CalledProcessError) as failure:
        print(f"accuracy: {failure}", file=sys.stderr)
        return 1
    text = table(rows)
    print(text)
    if options.write:
        write(text)
    lost = worst_loss_points(rows)
    if lost > BOUND_POINTS:
        print(f"accuracy: {lost:.2f} points were lost", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
