#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""golden_test.py [--update] - what `elastane` prints when no daemon is needed.

Each file in golden/ is a session: lines that begin with "$ " are commands (variables may
stand in front), and what follows is what they printed, standard error too, then the exit
code when it is not 0. Commands run in a copy of files/. The test runs them again and
compares; --update writes what it saw, for a person to review."""

import difflib
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = pathlib.Path(os.environ.get("ELASTANE_BUILD", "build")).resolve() / "src/prog/elastane"


def run(line, directory):
    words = shlex.split(line)
    env = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "TZ": "UTC",
           "ELASTANE_SOCKET": "none.sock"}
    while words and "=" in words[0]:
        name, value = words.pop(0).split("=", 1)
        env[name] = value
    assert words.pop(0) == "elastane", line
    done = subprocess.run([PROGRAM, *words], cwd=directory, env=env, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60)
    text = done.stdout.decode("utf-8", "backslashreplace").replace(str(directory), "DIR")
    return text + (f"[exit {done.returncode}]\n" if done.returncode else "")


def session(text, directory):
    out = []
    for line in text.splitlines():
        if line.startswith("# "):
            out.append(line + "\n")
        elif line.startswith("$ "):
            out.append(line + "\n" + run(line[2:], directory))
    return "".join(out)


def main():
    files = sorted(HERE.glob("golden/*.txt"))
    failed = 0
    print(f"1..{len(files)}")
    for number, path in enumerate(files, 1):
        with tempfile.TemporaryDirectory() as top:
            directory = pathlib.Path(top).resolve() / "files"
            shutil.copytree(HERE / "files", directory)
            (directory / "job.sh").chmod(0o755)
            (directory / "slip.sh").chmod(0o644)
            (directory / "nohead.sh").chmod(0o644)
            with open(directory / "huge.yaml", "wb") as huge:
                huge.truncate(10 << 20)
            expected = path.read_text()
            seen = session(expected, directory)
        if "--update" in sys.argv:
            path.write_text(seen)
        good = seen == expected or "--update" in sys.argv
        failed += not good
        print(f"{'ok' if good else 'not ok'} {number} - golden_{path.stem}")
        if not good:
            for line in difflib.unified_diff(expected.splitlines(), seen.splitlines(),
                                             str(path.name), "seen", lineterm=""):
                print("#", line)
    return 1 if failed else 0


sys.exit(main())
