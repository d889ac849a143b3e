#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""docs/scenarios.md names tests that exist, and every scenario of this issue has one."""
import os
import pathlib
import re

ROOT = pathlib.Path(os.environ["ELASTANE_SOURCE"])
WANTED = ["R03", "R04", "R05", "R06", "R07", "R08", "R09", "R11", "R12", "R13", "R15", "R16", "R17"]


def tests_of_the_tree():
    names = {path.name for path in (ROOT / "test/golden").glob("*.scn")}
    for pattern in ("src/**/*_test.c", "test/**/*_test.py"):
        for path in ROOT.glob(pattern):
            names.add(str(path.relative_to(ROOT)))
            names.update(re.findall(r"\b[a-z]\w+\b", path.read_text()))
    return names


def main():
    page = (ROOT / "docs/scenarios.md").read_text()
    known = tests_of_the_tree()
    files = {path.name for path in (ROOT / "src/core").rglob("*.c")}
    missing = []
    for name in re.findall(r"`([a-z][\w./]+)`", page):
        is_file = name.endswith((".c", ".py", "/")) and (
            (ROOT / name).exists() or (ROOT / "src/core" / name).exists() or name in files)
        if "_" in name and not is_file and name not in known and name not in SETTINGS:
            missing.append(name)
    print("1..2")
    print(f"{'not ok' if missing else 'ok'} 1 - every_test_on_the_page_exists")
    for name in missing:
        print(f"# {name}")
    bare = [i for i in WANTED if not re.search(rf"^\| {i} \|.*`{i.lower()}_", page, re.M)]
    print(f"{'not ok' if bare else 'ok'} 2 - every_scenario_of_the_issue_has_a_test_of_its_id")
    for name in bare:
        print(f"# {name}")


SETTINGS = {"min_run", "min_gap", "admit_wait"}

if __name__ == "__main__":
    main()
