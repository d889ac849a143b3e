# SPDX-License-Identifier: Apache-2.0
"""A trainer with a DataLoader of four workers that saves on SIGTERM; a worker that hears SIGTERM
says so. Prints `batch N`, then `saved N`."""

import os
import signal
import sys
import time

import torch.utils.data

told = []


class Endless(torch.utils.data.IterableDataset):
    def __iter__(self):
        while True:
            time.sleep(0.002)
            yield torch.ones(4)


def in_worker(_):
    signal.signal(signal.SIGTERM, lambda *_: os.write(1, b"child got term\n"))


def main():
    signal.signal(signal.SIGTERM, lambda *_: told.append(True))
    loader = torch.utils.data.DataLoader(Endless(), batch_size=2, num_workers=4,
                                         worker_init_fn=in_worker)
    for number, _ in enumerate(loader):
        print("batch", number, flush=True)
        if told:
            print("saved", number, flush=True)
            break


main()
sys.exit(0)
