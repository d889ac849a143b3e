#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Story tests: each NAME.scn must tell NAME.out, twice, and also when the engine is torn
down and rebuilt from its journal at every third quiet moment. Prints TAP.

    run_stories.py TELL DIRECTORY [--update] [NAME...]
"""
import difflib
import pathlib
import subprocess
import sys


def tell(program, scenario, *options):
    done = subprocess.run([program, "--table", "--digest", *options, scenario],
                          capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, done.stderr


def split(text):
    """The story with its table, and the digest."""
    head, _, digest = text.rpartition("digest: ")
    return head, digest


def check(program, scenario, update):
    """A list of complaints; empty when the story is right."""
    expected = scenario.with_suffix(".out")
    rc, text, errors = tell(program, scenario)
    complaints = []
    if rc != 0:
        complaints += [f"exit {rc}", *errors.splitlines(), *text.splitlines()[-8:]]
    story, _ = split(text)
    if update:
        expected.write_text(story)
    wanted = expected.read_text() if expected.exists() else ""
    complaints += difflib.unified_diff(wanted.splitlines(), story.splitlines(),
                                       expected.name, "told now", lineterm="")
    if tell(program, scenario)[1] != text:
        complaints.append("the second run tells something else")
    rebuilt, _ = split(tell(program, scenario, "--rebuild", "3")[1])
    if rebuilt != story:
        complaints.append("with rebuilt engines the story differs:")
        complaints += difflib.unified_diff(story.splitlines(), rebuilt.splitlines(),
                                           "as it was", "rebuilt", lineterm="")
    return complaints


def main():
    words = [w for w in sys.argv[1:] if w != "--update"]
    update = "--update" in sys.argv
    program, directory, names = words[0], pathlib.Path(words[1]), words[2:]
    scenarios = sorted(directory.glob("*.scn"))
    if names:
        scenarios = [s for s in scenarios if s.stem in names]
    print(f"1..{len(scenarios)}")
    for number, scenario in enumerate(scenarios, 1):
        complaints = check(program, scenario, update)
        print("not ok" if complaints else "ok", number, "-", scenario.stem)
        for line in complaints:
            print("#", line)
    sys.exit(0)


main()
