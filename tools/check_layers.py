#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check_layers.py [--root DIR] - proves that directories under src/ are layers.

Two rules (STYLE 2 and 3). A file includes its own directory and lower levels only, never
up, never sideways; the levels stand in layers.txt beside this script. And each library has
one door: the headers in angle brackets that a directory may include stand in doors.txt.
Prints one line per sin and exits 1 if there was any."""

import argparse
import fnmatch
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
PURE = {"base", "core", "engine", "sim"}
TEST_FILE = re.compile(r"_test\.c$|_testing\.[ch]$")
INCLUDE = re.compile(r'\s*#\s*include\s*([<"])([^>"]+)[>"]')


def read_levels(path):
    level = {}
    for line in path.read_text().splitlines():
        words = line.split("#")[0].split()
        for directory in words[1:]:
            level[directory] = int(words[0])
    return level


def read_doors(path):
    """A list of (glob, set of directories)."""
    doors = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        line = line.split("#")[0].strip()
        if not line:
            continue
        globs, colon, directories = line.partition(":")
        if not colon:
            sys.exit(f"{path}:{number}: no colon")
        doors += [(glob, set(directories.split())) for glob in globs.split()]
    return doors


def quoted_sin(here, header, level, is_test):
    """What is wrong with including "header" from directory `here`, or None."""
    if ".." in header.split("/"):
        return f'"{header}" leaves its directory; include from the root of src/'
    if "/" not in header:
        return None  # can only be a file of the same directory
    there = header.split("/")[0]
    if there == "support" and is_test:
        return None
    if there == here or level.get(there, 99) < level[here]:
        return None
    if there not in level:
        return f"{here} may not include {there}, which is no layer"
    return f"{here} (level {level[here]}) may not include {there} (level {level[there]})"


def angle_sin(here, header, doors, is_test):
    """What is wrong with including <header> from directory `here`, or None."""
    known = None
    for glob, directories in doors:
        if not fnmatch.fnmatchcase(header, glob):
            continue
        known = directories
        if here in directories or "any" in directories:
            return None
        if "edge" in directories and here not in PURE:
            return None
        if "test" in directories and is_test:
            return None
    if known is None:
        return f"<{header}> has no door in tools/doors.txt"
    if "edge" in known:
        return f"<{header}> is not for {here}, which is pure"
    return f"<{header}> belongs to {' and '.join(sorted(known))}, not to {here}"


def check_file(path, here, level, doors):
    is_test = bool(TEST_FILE.search(path.name))
    sins = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        if match[1] == '"':
            sin = quoted_sin(here, match[2], level, is_test)
        else:
            sin = angle_sin(here, match[2], doors, is_test)
        if sin:
            sins.append(f"{path}:{number}: {sin}")
    return sins


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=HERE.parent)
    root = parser.parse_args().root
    level = read_levels(HERE / "layers.txt")
    doors = read_doors(HERE / "doors.txt")
    sins = []
    files = sorted((root / "src").rglob("*.[ch]"))
    for path in files:
        here = path.relative_to(root / "src").parts[0]
        if here not in level:
            sins.append(f"{path}: src/{here} has no level in tools/layers.txt")
            continue
        sins += check_file(path, here, level, doors)
    for sin in sins:
        print(sin)
    if not files:
        print(f"{root}/src: no C file found")
    return 1 if sins or not files else 0


if __name__ == "__main__":
    sys.exit(main())
