#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench_test.py - `elastane bench allocate` finds what its rivals find. Prints TAP."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ELASTANE = pathlib.Path(os.environ["ELASTANE_BUILD"], "src/prog/elastane")
SHAPES = ("concave", "steps", "noisy", "gappy", "equal", "correlated", "gap", "gaps", "one-size",
          "huge")


def bench(*options, path=None):
    env = dict(os.environ, **({"PATH": path} if path else {}))
    return subprocess.run([ELASTANE, "bench", "allocate", *map(str, options)], env=env,
                          capture_output=True, text=True, timeout=120)


def agrees(shape):
    done = bench("--jobs", 30, "--devices", 100, "--max-size", 12, "--shape", shape,
                 "--seed", 5, "--json")
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    assert (seen["shape"], seen["jobs"], seen["devices"]) == (shape, 30, 100), seen
    ours = seen["solver"]
    assert ours["certified"] and ours["bound"] == ours["objective"], seen
    assert ours["objective"] // 32 == ours["value"], seen  # T is 32 for 30 jobs
    assert 0 <= ours["median_us"] <= ours["worst_us"] and ours["replan_us"] >= 0, seen
    assert seen["recurrence"]["exact"] and seen["recurrence"]["value"] == ours["value"], seen
    if shutil.which("cbc"):
        assert seen["cbc"]["exact"] and seen["cbc"]["value"] == ours["value"], seen


def knows_what_is_adversarial():
    done = bench("--jobs", 5, "--devices", 20, "--shape", "adversarial", "--limit", 0, "--json")
    seen = json.loads(done.stdout)
    assert seen["shape"] == "gaps" and seen["cbc"] == {"skipped": "left out"}, done


def does_without_cbc():
    with tempfile.TemporaryDirectory() as empty:
        done = bench("--jobs", 3, "--devices", 5, "--json", path=empty)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["cbc"] == {"skipped": "cbc is not installed"}, done.stdout


def leaves_the_others_out():
    done = bench("--jobs", 3, "--devices", 5, "--limit", 0)
    assert done.returncode == 0 and "recurrence" not in done.stdout, done


def main():
    tests = [(f"agrees with its rivals on {shape} rows", lambda s=shape: agrees(s))
             for shape in SHAPES]
    tests += [("knows what is adversarial", knows_what_is_adversarial),
              ("does without cbc", does_without_cbc),
              ("leaves the others out when asked to", leaves_the_others_out)]
    failed = 0
    print(f"1..{len(tests)}")
    for number, (name, test) in enumerate(tests, 1):
        try:
            test()
            print(f"ok {number} - {name}", flush=True)
        except AssertionError as wrong:
            failed += 1
            print(f"not ok {number} - {name}\n# {wrong}", flush=True)
    return 1 if failed else 0


sys.exit(main())
