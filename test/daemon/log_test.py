#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""log_test.py - long logs give their beginnings back, and those who read them miss nothing else."""

import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
from rig import BUILD, PATIENCE, Rig, run, until

CLI = BUILD / "src/prog/elastane"
MIB = 1 << 20
LINE = 64

# Writes lines of 64 bytes, numbered from 1, in bursts: as far as the file `upto` says.
WRITER = r"""#!/usr/bin/perl
use IO::Handle;
STDOUT->autoflush(1);
my $n = 0;
until (-e "go") {
    my $upto = 0;
    if (open(my $in, "<", "upto")) { $upto = <$in>; }
    print join("", map { sprintf("%063d\n", $_) } $n + 1 .. $upto) if $n < $upto;
    $n = $upto if $n < $upto;
    select(undef, undef, undef, 0.01);
}
"""


def writer(rig):
    (rig.top / "writer").write_text(WRITER)
    (rig.top / "writer").chmod(0o755)
    return rig.submit([rig.top / "writer"])


def upto(rig, job, n):
    """Lets it write, and waits until it has."""
    (rig.top / "upto.new").write_text(str(n))
    (rig.top / "upto.new").rename(rig.top / "upto")
    until(f"{n} lines", lambda: rank_log(rig, job).stat().st_size == n * LINE)


def rank_log(rig, job):
    return rig.state / f"jobs/{job}/1/rank-0.log"


def head(path):
    fd = os.open(path, os.O_RDONLY)
    try:
        return os.lseek(fd, 0, os.SEEK_DATA) if os.fstat(fd).st_size else 0
    finally:
        os.close(fd)


def knows_holes(rig):
    path = rig.top / "holes"
    path.write_bytes(b"x" * MIB)
    done = subprocess.run(["fallocate", "-p", "-o", "0", "-l", "524288", path], check=False,
                          stderr=subprocess.DEVNULL)
    return done.returncode == 0 and head(path) > 0


def logs(rig, *words):
    return subprocess.run([CLI, "logs", *words], capture_output=True, timeout=PATIENCE,
                          check=False, env={**os.environ, "ELASTANE_SOCKET": rig.socket})


def numbers(data):
    return [int(line) for line in data.split(b"\n") if re.fullmatch(rb"\d{63}", line)]


def long_log_keeps_its_end_and_says_what_is_gone():
    with Rig("--log-keep", "1") as rig:
        if not knows_holes(rig):
            return "this file system knows no holes"
        rig.start()
        job = writer(rig)
        rig.wait(job, "running")
        n = 5 * MIB // LINE
        upto(rig, job, n)
        until("its beginning is gone", lambda: head(rank_log(rig, job)) > 0)
        begin = head(rank_log(rig, job))
        assert 4 * MIB - (64 << 10) <= begin <= 4 * MIB, begin
        assert rank_log(rig, job).stat().st_blocks * 512 <= 2 * MIB
        seen = logs(rig, str(job))
        assert seen.returncode == 0 and b"are no longer kept" in seen.stderr, seen.stderr
        assert numbers(seen.stdout) == list(range(begin // LINE + 1, n + 1))
        assert len(seen.stdout) == n * LINE - begin
        told = [json.loads(line) for line in logs(rig, "--json", str(job)).stdout.splitlines()]
        assert told[0]["offset"] == begin and told[-1]["offset"] == (n - 1) * LINE, told[0]
        answer = rig.ask("GET", f"/v1/jobs/{job}/logs?offset={4 * MIB + 64}")
        assert answer.headers["Elastane-Log-Offset"] == str(4 * MIB + 64), answer.headers
        assert numbers(answer.body)[0] == (4 * MIB + 64) // LINE + 1
        rig.touch("go")
        rig.wait(job, "done")
        assert logs(rig, str(job)).stdout == seen.stdout
    return None


def follower_misses_no_line_over_rotations():
    with Rig("--log-keep", "1") as rig:
        if not knows_holes(rig):
            return "this file system knows no holes"
        rig.start()
        job = writer(rig)
        rig.wait(job, "running")
        out = (rig.top / "followed").open("wb")
        follower = subprocess.Popen([CLI, "logs", "-f", str(job)], stdout=out,
                                    env={**os.environ, "ELASTANE_SOCKET": rig.socket})
        n = 0
        before = 0
        for _ in range(3):  # rotations
            while head(rank_log(rig, job)) == before:
                n += MIB // 4 // LINE if n * LINE < before + 3 * MIB else 0
                upto(rig, job, n)
                until("it was followed", lambda: (rig.top / "followed").stat().st_size >= n * LINE)
            before = head(rank_log(rig, job))
        rig.touch("go")
        assert follower.wait(PATIENCE) == 0
        out.close()
        data = (rig.top / "followed").read_bytes()
        assert numbers(data) == list(range(1, n + 1)), (len(data), n)
    return None


def short_logs_and_logs_of_which_all_is_kept_stay_whole():
    for options, size in ((("--log-keep", "1"), 2 * MIB), (("--log-keep", "0"), 3 * MIB)):
        with Rig(*options) as rig:
            rig.start()
            job = writer(rig)
            rig.wait(job, "running")
            upto(rig, job, size // LINE)
            rig.touch("go")
            rig.wait(job, "done")
            assert head(rank_log(rig, job)) == 0
            assert numbers(logs(rig, str(job)).stdout) == list(range(1, size // LINE + 1))


run([long_log_keeps_its_end_and_says_what_is_gone,
     follower_misses_no_line_over_rotations,
     short_logs_and_logs_of_which_all_is_kept_stay_whole])
