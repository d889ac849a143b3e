# SPDX-License-Identifier: Apache-2.0
"""Fashion-MNIST from Debian's package dataset-fashion-mnist, and what both examples share."""

import argparse
import gzip
import json
import os

import torch

DIRECTORY = "/usr/share/datasets/fashion-mnist"


def read(kind):
    """(images, labels) of "train" (60000) or "t10k" (10000): a uint8 tensor of shape
    (n, 784) and an int64 tensor of shape (n,)."""
    with gzip.open(f"{DIRECTORY}/{kind}-images-idx3-ubyte.gz") as images:
        x = torch.frombuffer(bytearray(images.read()), dtype=torch.uint8, offset=16)
    with gzip.open(f"{DIRECTORY}/{kind}-labels-idx1-ubyte.gz") as labels:
        y = torch.frombuffer(bytearray(labels.read()), dtype=torch.uint8, offset=8)
    return x.view(-1, 784), y.long()


def scale(x):
    """Pixels as float32, roughly of mean 0 and deviation 1."""
    return (x.float() - 73) / 90


def options(description, lr, width):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=lr, help=f"for the base batch ({lr})")
    parser.add_argument("--width", type=int, default=width, help=f"of the layers ({width})")
    parser.add_argument("--batch", type=int, default=128, help="when alone (128)")
    parser.add_argument("--pace", help="such as 20ms+0.4ms*m; see "
                        "docs/training.md")
    parser.add_argument("--result", help="file for the accuracy, as JSON")
    found = parser.parse_args()
    if found.pace:
        os.environ["ELASTANE_PACE"] = found.pace
    return found


@torch.no_grad()
def accuracy(model):
    """Share of the test set that the model gets right."""
    x, y = read("t10k")
    model.eval()
    right = sum(int((model(scale(a)).argmax(1) == b).sum())
                for a, b in zip(x.split(1000), y.split(1000)))
    return right / len(y)


def report(model, result):
    """Prints the accuracy on the test set and writes it to the file `result`."""
    found = accuracy(model)
    print(f"test accuracy {100 * found:.2f} %", flush=True)
    if result:
        with open(result + ".new", "w", encoding="utf-8") as out:
            json.dump({"accuracy": found}, out)
        os.replace(result + ".new", result)
