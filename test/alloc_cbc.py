#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""alloc_cbc.py - the allocator against CBC, an integer programming solver, on problems
that are too large for brute force: 40 to 200 jobs of up to 24 sizes.

CBC gets the problem as the textbook has it, one binary variable for each (job, size), and
shares nothing with us but the numbers. It has 5 seconds for each; then ours must be at
least its solution and at most its bound, and equal where CBC says that it is optimal. CBC
works in floating point with tolerances, so its solution is added up again here in integers,
and where sums pass 10^9 its bound is trusted to nine digits.

Prints TAP. Needs cbc (skipped by name without it) and $ELASTANE_BUILD, or a directory
given as argument, in which alloc_cli was built."""

import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

SEEDS = range(1, 201)
SECONDS = 5
KINDS = ["mixed", "concave", "dips", "wild", "equal", "correlated", "gap", "one-size", "huge"]


def usual_row(rng, kind, sizes):
    """One job: (may_wait, held, {size: value}), with gaps, dips and values below zero."""
    if kind == "mixed":
        kind = rng.choice(["concave", "dips", "wild"])
    options = {}
    value = 0
    for size in range(rng.choice([1, 1, 1, 2]), sizes + 1):
        if kind == "concave":
            value += rng.randint(0, 200) // size
        elif kind == "dips":
            value += rng.randint(-40, 80)
        else:
            value = rng.randint(-100, 900)
        if not options or rng.random() < 0.8:
            options[size] = value
    return rng.random() < 0.3, rng.choice([0] + list(options)), options


def adversarial_row(rng, kind, sizes, job):
    """What knapsack solvers do not like: no price tells one choice from another."""
    few = sorted(rng.sample(range(1, sizes + 1), min(4, sizes)))
    if kind == "equal":
        options = {size: 10 * size for size in few}
    elif kind == "correlated":
        options = {few[-1]: 10 * few[-1] + sizes}
    elif kind == "gap":
        options = {2 * size - (job == 0): 20 * size - 19 * (job == 0) for size in few}
    elif kind == "one-size":
        options = {sizes // 2: rng.randint(0, 900)}
    else:
        options = {size: rng.randint(-2**30, 2**30) for size in few}
    return True, rng.choice([-1] + list(options)), options


def random_problem(seed):
    rng = random.Random(seed)
    kind = KINDS[seed % len(KINDS)]
    jobs = rng.randint(40, 200)
    sizes = rng.choice([4, 16, 24])
    devices = rng.randint(jobs * 2, jobs * 5) | 1
    if kind in KINDS[:4]:
        return kind, [usual_row(rng, kind, sizes) for _ in range(jobs)], devices
    return kind, [adversarial_row(rng, kind, sizes, job) for job in range(jobs)], devices


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
    """CBC's solution in integers (None: infeasible), and a bound (None: it gave none)."""
    with tempfile.TemporaryDirectory() as folder:
        problem = pathlib.Path(folder, "problem.lp")
        answer = pathlib.Path(folder, "answer.txt")
        problem.write_text(as_lp(table, jobs, devices))
        log = subprocess.run([cbc, problem, "ratioGap", "0", "allowableGap", "0", "seconds",
                              str(SECONDS), "solve", "solution", answer], check=True,
                             text=True, stdout=subprocess.PIPE).stdout
        head, *lines = answer.read_text().splitlines()
    if head.startswith("Infeasible") or head.startswith("Integer infeasible"):
        return None, None
    if not head.startswith("Optimal") and not head.startswith("Stopped on time"):
        raise RuntimeError(f"cbc says: {head}")
    total = used = 0
    for line in lines:
        _, name, amount, *_ = line.replace("**", "").split()
        if float(amount) > 0.5:
            job, size = map(int, name[2:].split("_"))
            total += table[job, size]
            used += size
    assert used <= devices
    if head.startswith("Optimal"):
        return total, total
    bound = re.search(r"^Upper bound:\s+(-?[0-9.e+]+)", log, re.MULTILINE)
    return total, float(bound[1]) if bound else None


def solve_with_ours(cli, rows, devices, factor):
    """The objective, or None; checks that the sizes are worth that."""
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
    table = weights(rows, factor)
    assert objective == sum(table[job, size] for job, size in enumerate(sizes))
    assert certified == 1 and bound == objective
    return objective


def compare(cbc, cli, seed):
    """(what the problem was, what is wrong or None)."""
    kind, rows, devices = random_problem(seed)
    factor = 2 ** len(rows).bit_length()
    ours = solve_with_ours(cli, rows, devices, factor)
    solution, bound = solve_with_cbc(cbc, weights(rows, factor), len(rows), devices)
    name = f"{kind}, {len(rows)} jobs, {devices} devices"
    if ours is None or solution is None:
        return name, None if ours is solution else f"cbc found {solution}, we {ours}"
    if ours < solution:
        return name, f"cbc found {solution}, we {ours}"
    if bound is not None and ours > bound + (abs(bound) * 1e-9 if abs(bound) > 1e9 else 0):
        return name, f"cbc's bound is {bound}, ours {ours}"
    return name + ("" if bound == solution else f" (cbc: {solution} to {bound})"), None


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
        name, wrong = compare(cbc, cli, seed)
        failed += wrong is not None
        print(f"{'not ok' if wrong else 'ok'} {number} - seed {seed}: {name}"
              + (f"\n# {wrong}" if wrong else ""), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
