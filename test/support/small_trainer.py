#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A tiny job for tests of elastane.torch: trains in double precision on made-up data, says
what it does line by line, and misbehaves on request.

    plan 0 of 2 batch 12
    resume 48
    part 0 17 3 5            epoch, then the indices of one micro-batch
    step 60 rate 0.1         samples done, learning rate that was applied
    end 0.1234               sum of all parameters
"""

import argparse
import os
import resource
import warnings

import torch

import elastane.torch


def say(*words):
    print(*words, flush=True)


def make_model():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(),
                               torch.nn.Linear(8, 3)).double()


def limit_saves(size_bytes):
    """A disk that is full for checkpoints, not for the log."""
    plain = elastane.checkpoint_save

    def limited(*words, **ledger):
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes, before[1]))
        try:
            return plain(*words, **ledger)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    elastane.checkpoint_save = limited
    warnings.simplefilter("ignore")


def train(options):
    torch.manual_seed(2)
    x = torch.randn(options.dataset, 5, dtype=torch.double)
    y = torch.randint(0, 3, (options.dataset,))
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    run = elastane.torch.start(model, optimizer, options.dataset, options.batch, seed=4,
                               save_every_s=options.save_every, probe=options.probe)
    rates = []
    plain_step = optimizer.step
    optimizer.step = lambda: (rates.append(optimizer.param_groups[0]["lr"]), plain_step())
    say("plan", run.rank, "of", run.size, "batch", run.plan.global_batch)
    say("resume", run.samples_done)
    for batch in run.batches(options.epochs):
        for part in batch:
            if 0 < options.oom_above < len(part) and run.rank == options.only_rank:
                raise torch.cuda.OutOfMemoryError("made up")
            say("part", batch.epoch, *part.indices.tolist())
            part.backward(torch.nn.functional.cross_entropy(model(x[part.indices]),
                                                            y[part.indices]))
        after = run.samples_done + batch.samples
        batch.reduce()
        say("step", after, "own", batch.own_samples)
        batch.step()
        say("rate", rates[-1])
    say("end", repr(sum(float(p.sum()) for p in model.parameters())))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dataset", type=int, default=120)
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--pace", default="10ms")
    parser.add_argument("--save-every", type=float, default=0)
    parser.add_argument("--probe", action="store_true")
    parser.add_argument("--file-limit", type=int, help="bytes: a disk that is full")
    parser.add_argument("--oom-above", type=int, default=0, help="samples of a part")
    parser.add_argument("--only-rank", type=int, default=0, help="that runs out of memory")
    options = parser.parse_args()
    torch.set_num_threads(1)
    os.environ["ELASTANE_PACE"] = options.pace
    if options.file_limit:
        limit_saves(options.file_limit)
    train(options)


if __name__ == "__main__":
    main()
