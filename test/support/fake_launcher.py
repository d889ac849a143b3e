#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""fake_launcher.py NPROC COMMAND... - a launcher such as torchrun, without its weight.

Starts NPROC ranks with the names that scripts expect, each with a log rank-N.log beside the
launcher's own. A rank that fails ends the others, and the launcher fails; on SIGTERM it passes the
signal on and ends with status 1, as torchrun does. Ranks that stay are killed after a second."""

import os
import pathlib
import signal
import subprocess
import sys

PATIENCE_S = 1  # torchrun: 30


def start(rank, n, command, logs):
    names = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": n, "LOCAL_WORLD_SIZE": n}
    output = None if rank == 0 else (logs / f"rank-{rank}.log").open("ab")
    return subprocess.Popen(command, stdout=output, stderr=output,
                            env={**os.environ, **{k: str(v) for k, v in names.items()}})


def main():
    n = int(sys.argv[1])
    was_told = []
    signal.signal(signal.SIGTERM, lambda *_: was_told.append(True))
    signal.signal(signal.SIGCHLD, lambda *_: None)  # ends sigtimedwait()
    wanted = {signal.SIGTERM, signal.SIGCHLD}
    logs = pathlib.Path(os.readlink("/proc/self/fd/1")).parent
    ranks = [start(rank, n, sys.argv[2:], logs) for rank in range(n)]
    signal.pthread_sigmask(signal.SIG_BLOCK, wanted)
    rounds = 0
    while None in (ends := [rank.poll() for rank in ranks]):
        if was_told or any(ends):
            rounds += 1
            for rank, end in zip(ranks, ends):
                if end is None and rounds == 1:
                    rank.terminate()
                elif end is None and rounds > PATIENCE_S:
                    rank.kill()
        told = signal.sigtimedwait(wanted, 1)
        if told and told.si_signo == signal.SIGTERM:
            was_told.append(True)
    return 1 if was_told or any(rank.returncode for rank in ranks) else 0


if __name__ == "__main__":
    sys.exit(main())
