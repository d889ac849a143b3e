#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""planted_test.py - each machine check finds its planted sin and lets the clean twin pass.

Prints TAP. A sin counts as found only if the check fails *and* says the expected words."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TOOLS = ROOT / "tools"
sys.path.insert(0, str(TOOLS))
import gate  # noqa: E402 - the options that sanitizers get

COMPILERS = ("gcc", "clang-14")
WARNINGS = (TOOLS / "warnings.txt").read_text().split()
FLAGS = ["-std=c17", "-D_GNU_SOURCE", "-O2", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
         *WARNINGS, "-ffp-contract=off", "-include", ROOT / "src/base/banned.h"]

results = []


def run(*command):
    """(exit status, everything it said)."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, cwd=ROOT,
                          stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, check=False,
                          env={**os.environ, **gate.SANITIZERS})
    return done.returncode, done.stdout.decode(errors="replace")


def finds(name, words, *command):
    """The check fails and says each of the words (regular expressions)."""
    status, output = run(*command)
    missing = [word for word in words if not re.search(word, output)]
    results.append((f"{name} is found", status not in (0, 77) and not missing,
                    f"exit status {status}, not said: {missing}\n{output}"))


def passes(name, *command):
    status, output = run(*command)
    results.append((f"{name} passes", status == 0, f"exit status {status}\n{output}"))


def test_layers():
    finds("layers: a sin", [
        r"up\.c:2: core \(level 1\) may not include store \(level 5\)",
        r"sideways\.c:2: store \(level 5\) may not include backend \(level 5\)",
        r"door\.c:2: <jansson\.h> belongs to wire, not to engine",
        r"clock\.c:2: <time\.h> is not for base, which is pure",
        r"dots\.c:2: .* leaves its directory",
        r"unknown\.c:2: <glib\.h> has no door",
        r"src/misc has no level",
    ], TOOLS / "check_layers.py", "--root", HERE / "layers/sin")
    passes("layers: a clean tree", TOOLS / "check_layers.py", "--root", HERE / "layers/clean")


def test_style():
    finds("style: a sin", [
        r"slashes\.c:2: a // comment",
        r"slashes_test\.c:4: a unit test calls usleep\(\)",
        r"slashes_test\.c:5: a unit test calls socket\(\)",
        r"todo\.c:2: TODO without issue number",
        r"banner\.c:2: a banner",
        r"conflict\.c:2: the mark of a conflict",
        r"tab\.c:4: a tab",
        r"licence\.c: no SPDX",
        r"tools/tool\.sh: no SPDX",
        r"long\.c: 902 lines; at most 900",
        r"src/base: no README\.md",
    ], TOOLS / "check_style.py", "--root", HERE / "style/sin")
    passes("style: a clean tree", TOOLS / "check_style.py", "--root", HERE / "style/clean")


def test_headers():
    for compiler in COMPILERS:
        finds(f"headers: one that leans on another ({compiler})",
              [rf"src/base/alone\.h does not stand alone \({compiler}\)"],
              TOOLS / "check_headers.sh", HERE / "headers/sin")
    finds("headers: one without guard", ["redefinition", r"unguarded\.h does not stand alone"],
          TOOLS / "check_headers.sh", HERE / "headers/sin2")
    passes("headers: a clean one", TOOLS / "check_headers.sh", HERE / "headers/clean")


def test_format():
    finds("format: an ugly file", [r"ugly\.c:2:.*clang-format"],
          TOOLS / "format.sh", "--check", HERE / "format/sin")
    passes("format: a neat file", TOOLS / "format.sh", "--check", HERE / "format/clean")


def archive(scratch, source):
    """An archive of one planted file."""
    out = scratch / f"lib{source.stem}.a"
    compiled = scratch / f"{source.stem}.o"
    subprocess.run(["gcc", "-std=c17", "-O2", "-fPIC", "-c", source,
                    "-o", compiled], check=True)
    subprocess.run(["ar", "rcs", out, compiled], check=True)
    return out


def test_purity(scratch):
    core = TOOLS / "pure/core.txt"
    for name, words in (("malloc", "malloc"), ("clock", "time"),
                        ("global", "mutable globals: calls")):
        finds(f"purity: {name} in core", [f"libsin_{name}\\.a is not pure: .*{words}"],
              TOOLS / "check_pure.sh", core, archive(scratch, HERE / f"pure/sin_{name}.c"))
    build = scratch / "build"
    for layer, source in (("base", "clean"), ("core", "sin_malloc")):
        (build / "src" / layer).mkdir(parents=True)
        shutil.copy(archive(scratch, HERE / f"pure/{source}.c"), build / "src" / layer)
    finds("purity: malloc in core of a whole build", [r"src/core/\S+\.a is not pure: .*malloc"],
          TOOLS / "check_purity.sh", build)
    passes("purity: malloc in base", TOOLS / "check_pure.sh", TOOLS / "pure/base.txt",
           archive(scratch, HERE / "pure/sin_malloc.c"))
    passes("purity: a clean archive with a const table of pointers", TOOLS / "check_pure.sh",
           core, archive(scratch, HERE / "pure/clean.c"))


def library(scratch, source):
    out = scratch / f"lib{source.stem}.so"
    subprocess.run(["gcc", "-std=c17", "-fPIC", "-shared", source, "-o", out], check=True)
    return out


def test_public_names(scratch):
    finds("public names: a helper that leaks", [r"shows more than elastane_\*: helper"],
          TOOLS / "check_public.sh", library(scratch, HERE / "public/sin.c"))
    passes("public names: a clean library",
           TOOLS / "check_public.sh", library(scratch, HERE / "public/clean.c"))


def test_compiler_flags(scratch):
    banned = ("strcpy", "strcat", "strncpy", "sprintf", "strtok", "srand", "atoi", "rand",
              "gmtime", "localtime")
    for compiler in COMPILERS:
        command = [compiler, *FLAGS, "-c", "-o", scratch / "out.o"]
        finds(f"banned: libc's dangerous calls ({compiler})",
              [rf"['‘]{name}['’] is deprecated: banned: use" for name in banned],
              *command, HERE / "banned/sin.c")
        finds(f"banned: alloca ({compiler})", ["alloca"], *command, HERE / "banned/alloca.c")
        passes(f"banned: a clean file ({compiler})", *command, HERE / "banned/clean.c")
        finds(f"warnings: a forgotten enum case ({compiler})", ["BLUE.*switch"],
              *command, HERE / "warnings/sin.c")
        passes(f"warnings: a full switch ({compiler})", *command, HERE / "warnings/clean.c")


def test_function_size(scratch):
    files = sorted((HERE / "size").glob("*.c"))
    entries = ",".join(f'{{"directory": "{scratch}", "file": "{f}", "arguments": '
                       f'["clang-14", "-std=c17", "-c", "{f}"]}}' for f in files)
    (scratch / "compile_commands.json").write_text(f"[{entries}]")
    for name, words in (("long", "lines including whitespace"), ("deep", "nesting level 4"),
                        ("wide", "7 parameters")):
        finds(f"function size: a {name} one", ["function-size", words],
              TOOLS / "check_size.sh", scratch, HERE / f"size/{name}.c")
    passes("function size: a small one", TOOLS / "check_size.sh", scratch,
           HERE / "size/clean.c")


def test_manual_pages():
    lint = ROOT / "test/tree/man_lint.sh"
    finds("manual: a broken page", [r"sin\.1:\d+:\d+: (WARNING|ERROR)"], lint, HERE / "man/sin.1")
    passes("manual: a clean page", lint, HERE / "man/clean.1")


def test_digests(scratch):
    check = TOOLS / "check_digests.sh"
    builds = [scratch / "a", scratch / "b"]
    for build in builds:
        build.mkdir()
        (build / "runs").touch()
    finds("digests: a build that decides otherwise", [r"digests differ", "> story b"],
          check, HERE / "digests/sin_build.sh", *builds)
    finds("digests: a second run that decides otherwise", [r"digests differ", "> story 1"],
          check, HERE / "digests/sin_again.sh", builds[0])
    passes("digests: equal ones", check, HERE / "digests/clean.sh", *builds)


def test_fuzz(scratch):
    (scratch / "test/fuzz").mkdir(parents=True)
    for name in ("sin", "clean"):
        subprocess.run(["clang-14", "-g", "-fsanitize=fuzzer,address,undefined",
                        HERE / f"fuzz/{name}.c", "-o", scratch / f"test/fuzz/{name}_fuzz"],
                       check=True)
    finds("fuzz: a write past the end", ["index 4 out of bounds", "sin-crash-"],
          TOOLS / "fuzz.sh", scratch, "sin_fuzz", 10)
    passes("fuzz: a clean target", TOOLS / "fuzz.sh", scratch, "clean_fuzz", 1)


def test_sanitizers(scratch):
    build = ["-g", "-O1", "-pthread", "-w", "-o", scratch / "program"]
    cases = (("heap", "gcc", "address,undefined", "heap-use-after-free"),
             ("leak", "gcc", "address,undefined", "detected memory leaks"),
             ("overflow", "gcc", "address,undefined", "signed integer overflow"),
             ("race", "clang-14", "thread", "data race"))
    for name, compiler, kind, words in cases:
        subprocess.run([compiler, f"-fsanitize={kind}", HERE / f"sanitizers/sin_{name}.c",
                        *build], check=True)
        finds(f"sanitizers: {name}", [words], scratch / "program")
        subprocess.run([compiler, f"-fsanitize={kind}", HERE / "sanitizers/clean.c", *build],
                       check=True)
        passes(f"sanitizers: a clean program under {kind}", scratch / "program")


def test_tally():
    tally = TOOLS / "tally.py"
    finds("tally: a failed subtest", [r"FAILED base/x_test: bad\n +# 0x1 != 0x2",
                                      r"\n1 passed, 1 failed\n$"], tally, HERE / "tally/failed.json")
    finds("tally: a run that broke off", ["missing: that run did not come to its end",
                                          r"\n2 passed, 1 failed, 1 skipped\n$"],
          tally, HERE / "tally/clean.json", HERE / "tally/absent.json")
    finds("tally: a crash", ["ended with error", "AddressSanitizer",
                             r"\n1 passed, 1 failed\n$"], tally, HERE / "tally/crashed.json")
    finds("tally: a leak after the last test", ["memory leaks", r"\n1 passed, 1 failed\n$"],
          tally, HERE / "tally/leaked.json")
    finds("tally: a run without a test", [r"skipped: base/x_test \(no curses here\)",
                                          r"\n0 passed, 0 failed, 1 skipped\n$"],
          tally, HERE / "tally/nothing.json")
    passes("tally: a clean run with a skip", tally, HERE / "tally/clean.json")


def main():
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        test_layers()
        test_style()
        test_headers()
        test_format()
        test_purity(scratch)
        test_public_names(scratch)
        test_compiler_flags(scratch)
        test_function_size(scratch)
        test_manual_pages()
        test_digests(scratch)
        test_fuzz(scratch)
        test_sanitizers(scratch)
        test_tally()
    print(f"1..{len(results)}")
    for number, (name, is_good, output) in enumerate(results, 1):
        print(f"{'' if is_good else 'not '}ok {number} - {name}")
        if not is_good:
            print("\n".join(f"# {line}" for line in output.splitlines()))
    return 0 if all(is_good for _, is_good, _ in results) else 1


if __name__ == "__main__":
    sys.exit(main())
