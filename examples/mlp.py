#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A small multi-layer perceptron on Fashion-MNIST; elastic by the lines marked with <-."""

import torch
from torch import nn

import elastane.torch  # <-
import fashion


def build(width):
    return nn.Sequential(nn.Linear(784, width), nn.ReLU(), nn.Linear(width, 128), nn.ReLU(),
                         nn.Linear(128, 10))


def main():
    o = fashion.options(__doc__, lr=0.02, width=256)
    torch.set_num_threads(1)
    torch.manual_seed(o.seed)
    model = build(o.width)
    optimizer = torch.optim.SGD(model.parameters(), lr=o.lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.6)  # per epoch
    loss_of = nn.CrossEntropyLoss()
    x, y = fashion.read("train")

    run = elastane.torch.start(model, optimizer, len(x), o.batch, scheduler, o.seed)  # <-
    for batch in run.batches(o.epochs):  # <-
        for part in batch:  # <-
            loss = loss_of(model(fashion.scale(x[part.indices])), y[part.indices])  # <-
            part.backward(loss)  # <-
        batch.step()  # <-

    if run.rank == 0:  # <-
        fashion.report(model, o.result)


if __name__ == "__main__":
    main()
