#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""tally.py RESULT.json... - adds up results and ends with one plain line.

    8 passed, 0 failed, 1 skipped

A result file is what tools/gate.py writes, or the log of a meson test run
(meson-logs/*.json); of a test that speaks TAP each subtest counts. Failures are printed
with what they said, skips with their reason, the plain line last. Exit status 0 means:
nothing failed and at least one passed."""

import json
import pathlib
import re
import sys
from dataclasses import asdict, dataclass

TAP_LINE = re.compile(r"(not )?ok\b\s*(\d+)?\s*-?\s*([^#]*?)\s*"
                      r"(?:#\s*(SKIP|T[O]DO)\S*\s*(.*))?$", re.I)
TAP_PLAN = re.compile(r"1\.\.(\d+)\s*(?:#\s*SKIP\S*\s*(.*))?$", re.I)
DETAIL_LINES = 60


@dataclass
class Outcome:
    name: str
    status: str  # passed, failed or skipped
    detail: str = ""  # what a failure said, why something was skipped


def last_lines(text, count=DETAIL_LINES):
    lines = text.rstrip().splitlines()
    cut = [f"... {len(lines) - count} lines before"] if len(lines) > count else []
    return "\n".join(cut + lines[-count:])


def read_tap(name, text):
    """The subtests of one program. Lines that begin with # explain the test before them;
    cmocka writes 'not ok 3 # SKIP name', which is a skip all the same."""
    outcomes = []
    for line in text.splitlines():
        plan = TAP_PLAN.match(line)
        match = TAP_LINE.match(line)
        if plan and plan[1] == "0":
            outcomes.append(Outcome(name, "skipped", plan[2] or "it has no test"))
        elif match and match[4]:
            outcomes.append(Outcome(f"{name}: {match[3] or match[5] or match[2]}", "skipped",
                                    match[5] or match[4]))
        elif match:
            outcomes.append(Outcome(f"{name}: {match[3] or match[2]}",
                                    "failed" if match[1] else "passed"))
        elif line.startswith("Bail out!"):
            outcomes.append(Outcome(name, "failed", line))
        elif line.startswith("#") and outcomes and outcomes[-1].status == "failed":
            outcomes[-1].detail += line + "\n"
    return outcomes


def read_test(test):
    """One line of a meson test log: a program, as the outcomes of its subtests."""
    suites, _, program = test["name"].split(":", 1)[-1].rpartition(" / ")
    name = f"{suites.split('+')[0]}/{program}"
    output = test.get("stdout") or ""
    # meson's own remark about an exit status that cmocka makes from the failed tests
    errors = re.sub(r"\n*\(test program exited with status code \d+\)\n*", "",
                    test.get("stderr") or "")
    noise = last_lines(output + errors)
    result = test["result"]
    outcomes = read_tap(name, output)
    failed = [o for o in outcomes if o.status == "failed"]
    skipped = [o for o in outcomes if o.status == "skipped"]
    is_fine = result in ("OK", "EXPECTEDFAIL", "SKIP")
    for outcome in failed:
        outcome.detail = outcome.detail or noise
    if outcomes and is_fine:
        return outcomes
    if failed:
        if errors.strip() or test["returncode"] < 0:  # it failed a test and crashed, too
            failed[-1].detail += f"\n({result.lower()}, exit status {test['returncode']})\n{noise}"
        return outcomes
    if skipped and result == "FAIL" and test["returncode"] == 0:
        return outcomes
    if result == "SKIP":
        return [Outcome(name, "skipped", last_lines(noise, 1))]
    if is_fine:
        return [Outcome(name, "passed")]
    ending = f"ended with {result.lower()}, exit status {test['returncode']}\n{noise}"
    return outcomes + [Outcome(name, "failed", ending)]


def read_meson_log(path):
    with open(path, encoding="utf-8") as log:
        return [outcome for line in log if line.strip()
                for outcome in read_test(json.loads(line))]


def read_result(path):
    if not pathlib.Path(path).exists():
        return [Outcome(str(path), "failed", "missing: that run did not come to its end")]
    text = pathlib.Path(path).read_text(encoding="utf-8")
    if text.startswith("["):
        return [Outcome(**item) for item in json.loads(text)]
    return read_meson_log(path)


def write_result(path, outcomes):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps([asdict(o) for o in outcomes], indent=1), encoding="utf-8")


def count(outcomes, status):
    return sum(o.status == status for o in outcomes)


def plain_line(outcomes):
    line = f"{count(outcomes, 'passed')} passed, {count(outcomes, 'failed')} failed"
    skipped = count(outcomes, "skipped")
    return line + (f", {skipped} skipped" if skipped else "")


def report(outcomes):
    """Prints failures, skips and, last, the plain line; returns the exit status."""
    for outcome in outcomes:
        if outcome.status == "failed":
            print(f"\nFAILED {outcome.name}")
            for line in last_lines(outcome.detail).splitlines():
                print(f"    {line}")
    skips = [f"skipped: {o.name} ({o.detail})" for o in outcomes if o.status == "skipped"]
    print("\n".join([""] + skips) if skips else "")
    print(plain_line(outcomes), flush=True)
    return 0 if count(outcomes, "passed") and not count(outcomes, "failed") else 1


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    return report([o for path in sys.argv[1:] for o in read_result(path)])


if __name__ == "__main__":
    sys.exit(main())
