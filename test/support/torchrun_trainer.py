# SPDX-License-Identifier: Apache-2.0
"""A script as people have it: torch.distributed, a checkpoint, SIGTERM, and nothing of Elastane.

Prints `world N from STEP` at the start and appends each step to the file STEPS."""

import os
import signal
import sys
import time

import torch
import torch.distributed

CHECKPOINT, LAST = "model.pt", int(sys.argv[1])


def main():
    told = []
    signal.signal(signal.SIGTERM, lambda *_: told.append(True))
    torch.distributed.init_process_group("gloo")
    rank = torch.distributed.get_rank()
    model = torch.nn.Linear(4, 1)
    step = 0
    if os.path.exists(CHECKPOINT):
        saved = torch.load(CHECKPOINT)
        model.load_state_dict(saved["model"])
        step = saved["step"]
    if rank == 0:
        print(f"world {torch.distributed.get_world_size()} from {step}", flush=True)
    while step < LAST:
        stop = torch.tensor(float(bool(told)))
        torch.distributed.all_reduce(stop)
        if stop > 0:
            break
        step += 1
        model(torch.ones(2, 4)).sum().backward()
        time.sleep(0.02)
        if rank == 0:
            with open("steps", "a", encoding="ascii") as steps:
                print(step, file=steps)
    if rank == 0:
        torch.save({"model": model.state_dict(), "step": step}, CHECKPOINT + ".tmp")
        os.replace(CHECKPOINT + ".tmp", CHECKPOINT)
        print("finished" if step == LAST else f"saved {step}", flush=True)
    torch.distributed.destroy_process_group()


main()
