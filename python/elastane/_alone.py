# SPDX-License-Identifier: Apache-2.0
"""What a script gets where there is no libelastane: plain training, nobody to talk to.

The split of a batch is the library's. The order of the samples is not: another permutation,
fixed by (seed, epoch) as well, good for a run that nobody resizes.
"""

import os
import random

from ._library import Batch, Plan

_orders = {}  # the newest epoch of each (seed, dataset size)


def plan(default_batch):
    """A plan of one rank, or what RANK and WORLD_SIZE of another launcher say."""
    size = max(1, int(os.environ.get("WORLD_SIZE") or 1))
    return Plan(rank=int(os.environ.get("RANK") or 0) if size > 1 else 0, size=size,
                local_rank=int(os.environ.get("LOCAL_RANK") or 0),
                global_batch=default_batch, accumulation=1, lr_from_ppm=1000000,
                lr_to_ppm=1000000)


def next_batch(given, dataset_size, samples_done):
    """As elastane_next_batch()."""
    samples = min(given.global_batch, dataset_size - samples_done % dataset_size)
    own, rest = divmod(samples, given.size)
    return Batch(epoch=samples_done // dataset_size, position=samples_done, samples=samples,
                 own_offset=given.rank * own + min(given.rank, rest),
                 own_samples=own + (given.rank < rest), accumulation=given.accumulation,
                 weight=(own + (given.rank < rest)) / samples)


def share(batch, number):
    """As elastane_pass()."""
    own, rest = divmod(batch.own_samples, batch.accumulation)
    return own + (number < rest)


def indices(seed, dataset_size, position, count):
    """As elastane_indices(), in an order of its own."""
    return [_order(seed, dataset_size, at // dataset_size)[at % dataset_size]
            for at in range(position, position + count)]


def _order(seed, dataset_size, epoch):
    known = _orders.get((seed, dataset_size))
    if not known or known[0] != epoch:
        order = list(range(dataset_size))
        random.Random(f"{seed} {epoch}").shuffle(order)
        known = _orders[seed, dataset_size] = epoch, order
    return known[1]
