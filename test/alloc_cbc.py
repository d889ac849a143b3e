#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""alloc_cbc.py - the allocator against CBC, an integer programming solver, on problems
that are too large for brute force: 40 jobs of up to 16 sizes on 64 devices.

CBC gets the problem as the textbook has it, one binary variable for each (job, size), and
shares nothing with us but the numbers. Both objectives are compared: value alone, and
value first with unchanged jobs second. CBC works in floating point with tolerances, so
values are small enough to be exact, and its answer is added up again here in integers.

Prints TAP. Needs cbc (skipped by name without it) and $ELASTANE_BUILD, or a directory
given as argument, in which alloc_cli was built."""

import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

JOBS = 40
SIZES = 16
DEVICES = 64
SEEDS = range(1, 13)


def random_row(rng):
    """One job: (may_wait, held, {size: value}), with gaps, dips and values below zero."""
    kind = rng.choice(["concave", "dips", "wild"])
    options = {}
    value = 0
    for size in range(rng.choice([1, 1, 1, 2]), SIZES + 1):
        if kind == "concave":
            value += rng.randint(0, 200) // size
        elif kind == "dips":
            value += rng.randint(-40, 80)
        else:
            value = rng.randint(-100, 900)
        if not options or rng.random() < 0.8:
            options[size] = value
    may_wait = rng.random() < 0.3
    held = rng.choice([0] + list(options))
    return may_wait, held, options


def as_input(rows, devices):
    lines = [f"{len(rows)} {devices}"]
    for may_wait, held, options in rows:
        pairs = " ".join(f"{size} {value}" for size, value in options.items())
        lines.append(f"{int(may_wait)} {held} {len(options)} {pairs}")
    return "\n".join(lines) + "\n"


def weights(rows, factor):
    """{(job, size): weight}; size 0 is there for jobs that may wait."""
    table = {}
    for job, (may_wait, held, options) in enumerate(rows):
        for size, value in [(0, 0)] * may_wait + list(options.items()):
            table[job, size] = value * factor + (size == held)
    return table


def as_lp(table, jobs, devices):
    def terms(pairs):
        return "\n ".join(f"{'+' if w >= 0 else '-'} {abs(w)} x_{j}_{k}" for (j, k), w in pairs)

    lines = ["Maximize", " obj: " + terms(table.items()), "Subject To"]
    lines.append(" cap: " + terms([((j, k), k) for j, k in table if k]) + f" <= {devices}")
    for job in range(jobs):
        sizes = [k for j, k in table if j == job]
        lines.append(f" job{job}: " + " + ".join(f"x_{job}_{k}" for k in sizes) + " = 1")
    lines.append("Binary")
    lines += [f" x_{j}_{k}" for j, k in table]
    return "\n".join(lines + ["End", ""])


def solve_with_cbc(cbc, table, jobs, devices):
    """CBC's optimum in integers, or None when it says infeasible."""
    with tempfile.TemporaryDirectory() as folder:
        problem = pathlib.Path(folder, "problem.lp")
        answer = pathlib.Path(folder, "answer.txt")
        problem.write_text(as_lp(table, jobs, devices))
        subprocess.run([cbc, problem, "ratioGap", "0", "allowableGap", "0", "seconds", "60",
                        "solve", "solution", answer], check=True, stdout=subprocess.DEVNULL)
        head, *lines = answer.read_text().splitlines()
    if head.startswith("Infeasible") or head.startswith("Integer infeasible"):
        return None
    if not head.startswith("Optimal"):
        raise RuntimeError(f"cbc says: {head}")
    total = used = 0
    for line in lines:
        _, name, amount, *_ = line.replace("**", "").split()
        if float(amount) > 0.5:
            job, size = map(int, name[2:].split("_"))
            total += table[job, size]
            used += size
    assert used <= devices
    return total


def solve_with_ours(cli, rows, devices):
    """(value, objective), or None; checks that the sizes are worth that."""
    out = subprocess.run([cli], input=as_input(rows, devices), check=True, text=True,
                         stdout=subprocess.PIPE).stdout
    if out.startswith("infeasible"):
        return None
    first, second = out.splitlines()
    value, objective, bound, _, _, certified = map(int, first.split())
    sizes = list(map(int, second.split()))
    assert sum(sizes) <= devices
    assert value == sum(weights(rows, 1)[job, size] - (size == rows[job][1])
                        for job, size in enumerate(sizes))
    assert certified == 1 and bound == objective
    return value, objective


def compare(cbc, cli, seed):
    """What differs, or None."""
    rng = random.Random(seed)
    rows = [random_row(rng) for _ in range(JOBS)]
    devices = rng.choice([DEVICES, DEVICES, DEVICES - 7, 30])
    factor = 64  # the least power of two above 40
    ours = solve_with_ours(cli, rows, devices)
    with_bonus = weights(rows, factor)
    value_only = {key: weight // factor for key, weight in with_bonus.items()}
    value = solve_with_cbc(cbc, value_only, JOBS, devices)
    objective = solve_with_cbc(cbc, with_bonus, JOBS, devices)
    if ours is None:
        return None if value is None and objective is None else f"cbc found {value}, we nothing"
    if ours != (value, objective):
        return f"cbc found value {value}, objective {objective}; we {ours}"
    return None


def main():
    cbc = shutil.which("cbc")
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else os.environ["ELASTANE_BUILD"])
    cli = build / "src/core/alloc_cli"
    if not cbc:
        print("1..0 # SKIP cbc is not installed")
        return 0
    print(f"1..{len(SEEDS)}")
    failed = 0
    for number, seed in enumerate(SEEDS, 1):
        wrong = compare(cbc, cli, seed)
        failed += wrong is not None
        print(f"{'not ok' if wrong else 'ok'} {number} - seed {seed}"
              + (f"\n# {wrong}" if wrong else ""), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
