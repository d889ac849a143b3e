#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""gate.py check|check-all|fuzz [--build DIR] - the machine checks of the tree, in order.

`make check`, `make check-all` and `make fuzz` call this. A gate is a list of steps: a tool (one check),
a build (one check: it compiles without a warning), or a run of tests in such a build (each
test counts). A step that fails does not stop the others, unless they need its build. Each
step's output goes to BUILD/gate/NAME.log and is shown only when it failed. At the end
tally.py prints failures, skips and the plain closing line; the outcomes stay in
BUILD/gate/TIER.json.

Tests choose their tier and build in test/meson.build:
  check         ASan and UBSan build, in `make check`
  check-plain   plain -O2 build, in `make check`: Python loads our library, figures, torch
  all           ASan and UBSan build, in `make check-all` only
  all-plain     plain -O2 build, in `make check-all` only"""

import argparse
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import time

import tally
from tally import Outcome

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOOLS = ROOT / "tools"
HEARTBEAT_S = 20
SKIP_STATUS = 77

# name: (compiler, options of meson)
BUILDS = {
    "plain": ("gcc", ["--buildtype=debugoptimized"]),
    "check": ("gcc", ["--buildtype=debugoptimized", "-Db_sanitize=address,undefined"]),
    "gcc-O0": ("gcc", ["--buildtype=debug"]),
    "clang-O0": ("clang-14", ["--buildtype=debug"]),
    "clang-O2": ("clang-14", ["--buildtype=debugoptimized"]),
    "release": ("gcc", ["--buildtype=release", "-Db_ndebug=false"]),
    "tsan": ("clang-14", ["--buildtype=debugoptimized", "-Db_sanitize=thread"]),
    "fuzz": ("clang-14", ["--buildtype=debugoptimized", "-Db_sanitize=address,undefined",
                          "-Dfuzz=true"]),
}
# Those that must come to the same decisions (STYLE 7).
ALIKE = ["plain", "gcc-O0", "clang-O0", "clang-O2"]

SANITIZERS = {
    "ASAN_OPTIONS": "abort_on_error=1:detect_leaks=1:strict_string_checks=1",
    "UBSAN_OPTIONS": "halt_on_error=1:abort_on_error=1:print_stacktrace=1",
    "TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1",
}


def processor_seconds():
    """Of all children that have ended: what a step costs, however busy the machine is."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Gate:
    """Runs steps, keeps their outcomes, tells the reader where it stands."""

    def __init__(self, build):
        self.build = build
        self.outcomes = []
        self.broken = set()  # builds that did not compile
        self.env = {**os.environ, **SANITIZERS, "NINJA_STATUS": "[%f/%t] "}
        (build / "gate").mkdir(parents=True, exist_ok=True)

    def say(self, text, end="\n"):
        print(text, end=end, flush=True)

    def run(self, name, command, env=None):
        """Runs a command into BUILD/gate/NAME.log; returns (exit status, its output)."""
        path = self.build / "gate" / (name.replace(" ", "-").replace("/", "-") + ".log")
        started = time.monotonic()
        cpu = processor_seconds()
        told = started
        self.say(f"{name:<34} ", end="")
        with path.open("w+b") as log:
            child = subprocess.Popen([str(word) for word in command], cwd=ROOT,
                                     stdin=subprocess.DEVNULL, stdout=log,
                                     stderr=subprocess.STDOUT, start_new_session=True,
                                     env={**self.env, **(env or {})})
            try:
                while child.poll() is None:
                    time.sleep(0.02 if time.monotonic() - started < 2 else 0.5)
                    if time.monotonic() - told > HEARTBEAT_S:
                        told = time.monotonic()
                        self.tell_progress(path, told - started)
            except BaseException:
                os.killpg(child.pid, signal.SIGTERM)
                child.wait()
                raise
        seconds = time.monotonic() - started
        word = {0: "ok", SKIP_STATUS: "skipped"}.get(child.returncode, "FAILED")
        self.say(f"{word:<8} {seconds:6.1f} s {processor_seconds() - cpu:8.1f} s of processor")
        return child.returncode, path.read_text(encoding="utf-8", errors="replace")

    def tell_progress(self, path, seconds):
        lines = path.read_bytes()[-4096:].decode(errors="replace").split("\n")
        newest = next((line.strip() for line in reversed(lines) if line.strip()), "")
        self.say(f"\n    {seconds:4.0f} s: {newest[:70]:<72}", end="")

    def record(self, name, status, detail=""):
        self.outcomes.append(Outcome(name, status, detail))

    def tool(self, name, *command):
        """One check: exit status 0 passes, 77 skips (the last line says why)."""
        status, output = self.run(name, command)
        if status == SKIP_STATUS:
            self.record(name, "skipped", tally.last_lines(output, 1))
        else:
            self.record(name, "passed" if status == 0 else "failed", output)
        return status == 0

    def make(self, name, *targets):
        """Configures and compiles BUILD/name; a check of its own (no warnings)."""
        compiler, options = BUILDS[name]
        directory = self.build / name
        key = " ".join([compiler, *options])
        stamp = directory / "gate-options"
        if directory.exists() and (not stamp.exists() or stamp.read_text() != key):
            shutil.rmtree(directory)
        if not (directory / "build.ninja").exists():
            status, output = self.run(f"configure {name}", ["meson", "setup", directory,
                                                            *options], {"CC": compiler})
            if status != 0:
                shutil.rmtree(directory, ignore_errors=True)
                self.broken.add(name)
                self.record(f"configure {name}", "failed", output)
                return
            stamp.write_text(key)
        if not self.tool(f"build {name}", "ninja", "-C", directory, *targets):
            self.broken.add(name)

    def tests(self, name, suites, without=()):
        """The tests of these suites in BUILD/name; every subtest counts."""
        if name in self.broken:
            return
        directory = self.build / name
        base = "gate-" + "-".join(suites)
        words = [word for suite in suites for word in ("--suite", suite)]
        words += [word for suite in without for word in ("--no-suite", suite)]
        log = directory / "meson-logs" / f"{base}.json"
        log.unlink(missing_ok=True)
        label = f"tests {name} ({' '.join(suites)})"
        status, output = self.run(label, ["meson", "test", "-C", directory, "--no-rebuild",
                                          "--logbase", base, *words])
        found = tally.read_meson_log(log) if log.exists() else []
        for outcome in found:
            outcome.name = f"{name}: {outcome.name}"
        self.outcomes += found
        failed = tally.count(found, "failed")
        self.say(f"    {len(found)} tests, {failed} of them failed" if found else "    none yet")
        # cmocka's skips make meson's status wrong, so only a run without a log counts here.
        if status != 0 and not found:
            self.record(label, "failed", output)
        elif failed == 0 and tally.count(found, "passed") == 0 and suites == ["check"]:
            self.record(label, "failed", "not one test ran")


def check_tree(gate):
    gate.tool("format", TOOLS / "format.sh", "--check")
    gate.tool("layers and doors", TOOLS / "check_layers.py")
    gate.tool("style", TOOLS / "check_style.py")
    gate.tool("headers stand alone", TOOLS / "check_headers.sh")


def check_symbols(gate):
    if "plain" in gate.broken:
        return
    plain = gate.build / "plain"
    gate.tool("purity", TOOLS / "check_purity.sh", plain)
    library = plain / "src/libelastane/libelastane.so"
    if library.exists():
        gate.tool("public names", TOOLS / "check_public.sh", library)


def check_digests(gate):
    """test/digest.sh BUILD prints digests of decisions; tools/check_digests.sh says more."""
    script = ROOT / "test/digest.sh"
    if os.access(script, os.X_OK) and not gate.broken.intersection(ALIKE):
        gate.tool("digests agree", TOOLS / "check_digests.sh", script,
                  *[gate.build / name for name in ALIKE])


def fuzz_seconds():
    return int(os.environ.get("FUZZ_SECONDS", "20"))


def check_fuzz(gate, seconds):
    gate.make("fuzz", "fuzzers")
    if "fuzz" in gate.broken:
        return
    for target in sorted((gate.build / "fuzz/test/fuzz").glob("*_fuzz")):
        gate.tool(f"fuzz {target.name}", TOOLS / "fuzz.sh", gate.build / "fuzz", target.name,
                  seconds)


def run_check(gate):
    check_tree(gate)
    gate.make("plain")
    check_symbols(gate)
    gate.make("check")
    gate.tests("check", ["check"])
    gate.tests("plain", ["check-plain"])


def run_check_all(gate):
    for name in ALIKE:
        gate.make(name)
    gate.tool("function size", TOOLS / "check_size.sh", gate.build / "clang-O0")
    for name in ALIKE:
        # What waits for processes and clocks does so alike at -O0; once a compiler will do.
        slow = ["daemon", "runtime"] if name.endswith("-O0") else []
        gate.tests(name, ["check"], without=["tree", *slow])
    check_digests(gate)
    gate.make("check")
    gate.tests("check", ["all"])
    gate.tests("plain", ["all-plain"])
    gate.make("release")  # that of make bench; -O3 sees more
    gate.make("tsan")
    gate.tests("tsan", ["thread"])
    check_fuzz(gate, fuzz_seconds())
    if "check" not in gate.broken:
        gate.tests("check", ["tree"])


def run_fuzz(gate):
    check_fuzz(gate, fuzz_seconds())


TIERS = {"check": run_check, "check-all": run_check_all, "fuzz": run_fuzz}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tier", choices=TIERS)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    options = parser.parse_args()
    build = options.build.resolve()
    gate = Gate(build)
    # Let `except BaseException` in run() end the children when somebody ends us.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    started = time.monotonic()
    TIERS[options.tier](gate)
    tally.write_result(build / "gate" / f"{options.tier}.json", gate.outcomes)
    print(f"\n{options.tier} took {time.monotonic() - started:.0f} s", end="")
    return tally.report(gate.outcomes)


if __name__ == "__main__":
    sys.exit(main())
