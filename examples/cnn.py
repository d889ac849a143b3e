#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""A small convolutional network on Fashion-MNIST; elastic by the lines marked with <-."""

import torch
from torch import nn

import elastane.torch  # <-
import fashion


def build(width):
    return nn.Sequential(nn.Unflatten(1, (1, 28, 28)),
                         nn.Conv2d(1, width, 5, stride=2, padding=2), nn.ReLU(),
                         nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.ReLU(),
                         nn.Flatten(), nn.Linear(2 * width * 7 * 7, 64), nn.ReLU(),
                         nn.Linear(64, 10))


def main():
    o = fashion.options(__doc__, lr=0.02, width=10)
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
