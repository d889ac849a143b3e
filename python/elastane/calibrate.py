# SPDX-License-Identifier: Apache-2.0
"""python3 -m elastane.calibrate [--sizes 2,3,4] [--bytes 4096,...] [--repeat 15] [--output FILE]

Measures what an all-reduce costs on this machine, with the library that jobs use (gloo by
way of torch.distributed), and prints one line of JSON:

    {"backend": "gloo", "bytes": [4096, ...], "sizes": [2, 3, 4],
     "time_ns": [[812000, ...], ...]}

`time_ns[i][j]` is the median time of one all-reduce of `bytes[j]` bytes of float32 over
`sizes[i]` processes on this host, one thread each; the slowest process counts. All numbers
are integers. Exit status 0, or 1 with a sentence on standard error.
"""

import argparse
import datetime
import json
import os
import statistics
import sys
import tempfile
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing

DEFAULT_BYTES = [4096, 65536, 1 << 20, 4 << 20, 16 << 20, 64 << 20]
WARM_UP = 3
TIMEOUT = datetime.timedelta(seconds=60)


def measure(rank, size, store, grid, repeat, answer):
    """One process of `size`; rank 0 puts the list of medians, nanoseconds, on `answer`."""
    torch.set_num_threads(1)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank,
                            world_size=size, timeout=TIMEOUT)
    medians = []
    for count in grid:
        data = torch.zeros(max(1, count // 4))
        times = []
        for turn in range(WARM_UP + repeat):
            dist.barrier()
            began_ns = time.monotonic_ns()
            dist.all_reduce(data)
            took_ns = torch.tensor([time.monotonic_ns() - began_ns])
            dist.all_reduce(took_ns, op=dist.ReduceOp.MAX)
            if turn >= WARM_UP:
                times.append(int(took_ns))
        medians.append(int(statistics.median(times)))
    dist.destroy_process_group()
    if rank == 0:
        answer.put(medians)


def calibrate(sizes, grid, repeat):
    """The table described above, as a dict. Raises what a process of it raised."""
    rows = []
    answer = multiprocessing.get_context("spawn").SimpleQueue()
    with tempfile.TemporaryDirectory(prefix="elastane-calibrate-") as directory:
        for size in sizes:
            store = os.path.join(directory, str(size))
            multiprocessing.spawn(measure, (size, store, grid, repeat, answer), nprocs=size)
            rows.append(answer.get())
    return {"backend": "gloo", "sizes": sizes, "bytes": grid, "time_ns": rows}


def numbers(text):
    """A list of rising numbers, at least 1."""
    found = [int(word) for word in text.split(",")]
    if any(a >= b for a, b in zip([0, *found], found)):
        raise ValueError
    return found


def main():
    parser = argparse.ArgumentParser(prog="elastane.calibrate", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=numbers, default=[2, 3, 4], help="processes, rising")
    parser.add_argument("--bytes", type=numbers, default=DEFAULT_BYTES, help="rising")
    parser.add_argument("--repeat", type=int, default=15, help="all-reduces of each kind")
    parser.add_argument("--output", help="write there, whole or not at all; else print")
    options = parser.parse_args()
    if options.sizes[0] < 2 or options.repeat < 1:
        parser.error("sizes begin at 2 and repeat at 1")
    try:
        found = calibrate(options.sizes, options.bytes, options.repeat)
    except Exception as error:  # whatever torch raises, the caller wants one sentence
        print(f"elastane.calibrate: {str(error).strip().splitlines()[-1]}", file=sys.stderr)
        return 1
    text = json.dumps(found, sort_keys=True)
    if not options.output:
        print(text)
        return 0
    with open(options.output + ".new", "w", encoding="utf-8") as out:
        out.write(text + "\n")
        out.flush()
        os.fsync(out.fileno())
    os.rename(options.output + ".new", options.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
