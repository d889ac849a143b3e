#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""check_style.py [--root DIR] - the rules of STYLE 9, 11 and 13 that a program can judge.

  comments    block comments only, never two slashes
  banners     no comment that is a rule: /* --- Part. --- */
  todo        TODO, FIXME and XXX carry an issue number: TODO(#12)
  spdx        each source file has an SPDX line among its first five
  length      a C file has at most 900 lines
  tests       unit tests (*_test.c) neither sleep nor open sockets
  readme      each directory under src/ that holds C has a README.md
  conflicts   no marks of a merge that was not finished
  tabs        C, Python and shell are indented with blanks

Prints one line per sin and exits 1 if there was any."""

import argparse
import pathlib
import re
import sys

FILE_LINES_MAX = 900
# A ruled heading; in C and Python only, Markdown and man pages have their own.
BANNER = re.compile(r"^\s*(?:/\*|#) ?([-=*~])\1{2,}")
TODO = re.compile(r"\b(TODO|FIXME|XXX)\b(?!\(#\d+\))")
# What a unit test must not call; socketpair() stays inside the process and is fine.
OUTSIDE = re.compile(
    r"(?<![\w.>])(sleep|usleep|nanosleep|clock_nanosleep|thrd_sleep|uv_sleep|socket"
    r"|getaddrinfo|gethostbyname)\s*\(")
# In this order: what begins first wins, so quotes in comments and the reverse are safe.
TOKEN = re.compile(r"""/\*.*?(?:\*/|\Z) | //[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'""",
                   re.S | re.X)
SOURCE_DIRECTORIES = ("src", "test", "bench", "examples", "include", "python", "tools",
                      "script", ".ci")


def blank(text):
    """The same number of lines, without the text."""
    return "\n" * text.count("\n")


def split_c(text):
    """(code without comments and strings, line numbers of // comments)."""
    slashes = []

    def replace(match):
        token = match[0]
        if token.startswith("//"):
            slashes.append(text.count("\n", 0, match.start()) + 1)
        return blank(token) if token[0] == "/" else '""' + blank(token)

    return TOKEN.sub(replace, text), slashes


def check_c(name, text):
    code, slashes = split_c(text)
    sins = [f"{name}:{line}: a // comment; write /* */" for line in slashes]
    lines = text.count("\n")
    if lines > FILE_LINES_MAX:
        sins.append(f"{name}: {lines} lines; at most {FILE_LINES_MAX}, split it")
    if name.endswith("_test.c"):
        for number, line in enumerate(code.splitlines(), 1):
            match = OUTSIDE.search(line)
            if match:
                sins.append(f"{name}:{number}: a unit test calls {match[1]}(); no sleeping, "
                            "no network in unit tests")
    return sins


def check_text(name, text):
    sins = []
    if not any("SPDX-License-Identifier:" in line for line in text.splitlines()[:5]):
        sins.append(f"{name}: no SPDX-License-Identifier in the first five lines")
    for number, line in enumerate(text.splitlines(), 1):
        match = TODO.search(line)
        if match and name != "tools/check_style.py":
            sins.append(f"{name}:{number}: {match[1]} without issue number; "
                        f"write {match[1]}(#12)")
        if line.startswith(("<<<<<<< ", ">>>>>>> ")):
            sins.append(f"{name}:{number}: the mark of a conflict")
        if BANNER.match(line):
            sins.append(f"{name}:{number}: a banner; make it two files, or a sentence")
        if line.startswith("\t") or line.lstrip(" ").startswith("\t"):
            sins.append(f"{name}:{number}: a tab; indent with blanks")
    return sins


def is_source(path):
    if path.suffix in (".c", ".h", ".py", ".sh"):
        return True
    if path.suffix:
        return False
    with path.open("rb") as file:
        return file.read(2) == b"#!"


def find_sources(root):
    for directory in SOURCE_DIRECTORIES:
        for path in sorted((root / directory).rglob("*")):
            name = path.relative_to(root).as_posix()
            if name.startswith(("test/planted/", "test/fuzz/corpus/")) or "__pycache__" in name:
                continue
            if path.is_file() and not path.is_symlink() and is_source(path):
                yield name, path


def check_readmes(root):
    directories = sorted({path.parent for path in (root / "src").rglob("*.[ch]")})
    return [f"{directory.relative_to(root).as_posix()}: no README.md; each directory has one "
            "of five minutes" for directory in directories
            if not (directory / "README.md").is_file()]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parent.parent)
    root = parser.parse_args().root
    sins = []
    count = 0
    for name, path in find_sources(root):
        count += 1
        text = path.read_text(encoding="utf-8")
        sins += check_text(name, text)
        if path.suffix in (".c", ".h"):
            sins += check_c(name, text)
    sins += check_readmes(root)
    for sin in sins:
        print(sin)
    if not count:
        print(f"{root}: no source file found")
    return 1 if sins or not count else 0


if __name__ == "__main__":
    sys.exit(main())
