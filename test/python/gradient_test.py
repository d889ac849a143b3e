#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Gradients of elastane.torch against the whole batch on one device, in double precision,
with real gloo processes: sizes 1 to 4, any batch, any accumulation."""

import os
import pathlib
import random
import sys
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import tap  # noqa: E402

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

import elastane.torch  # noqa: E402

SEED = int(os.environ.get("ELASTANE_TEST_SEED", "20261"))
DATASET = 97
BOUND = 1e-12


def make_model():
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(7, 9), torch.nn.Tanh(),
                               torch.nn.Linear(9, 3)).double()


def make_data():
    torch.manual_seed(2)
    return torch.randn(DATASET, 7, dtype=torch.double), torch.randint(0, 3, (DATASET,))


def loss_of(model, x, y):
    return torch.nn.functional.cross_entropy(model(x), y)


def whole_gradient(model, x, y, weights=None):
    """Of the (weighted) mean over all given samples, on one device."""
    model.zero_grad(set_to_none=True)
    losses = torch.nn.functional.cross_entropy(model(x), y, reduction="none")
    weights = torch.ones(len(y)) if weights is None else weights
    ((losses * weights).sum() / weights.sum()).backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


def difference(ours, theirs):
    """Largest difference, relative to the largest element of the whole gradient."""
    largest = max(float(tensor.abs().max()) for tensor in theirs)
    return max(float((a - b).abs().max()) for a, b in zip(ours, theirs)) / largest


def begin(batch_size, accumulation, wrap=None, rate=0.1):
    """A Run of this rank whose plan comes from the environment."""
    os.environ.update(ELASTANE_GLOBAL_BATCH=str(batch_size),
                      ELASTANE_ACCUMULATION=str(accumulation))
    model = make_model()
    if wrap:
        model = wrap(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)
    return elastane.torch.start(model, optimizer, DATASET, seed=5)


def samples_of(run, batch):
    numbers = elastane.indices(run.seed, DATASET, batch._batch.position, batch.samples)
    return torch.tensor(numbers.tolist())


def check_gradient(batch_size, accumulation, wrap=None):
    x, y = make_data()
    run = begin(batch_size, accumulation, wrap)
    reference = make_model()
    for batch in run.batches(1):
        for part in batch:
            part.backward(loss_of(run.model, x[part.indices], y[part.indices]))
        batch.reduce()
        all_of_it = samples_of(run, batch)
        reference.load_state_dict(run.model.state_dict())
        whole = whole_gradient(reference, x[all_of_it], y[all_of_it])
        off = difference([p.grad for p in run.model.parameters()], whole)
        assert off < BOUND, (run.size, batch_size, accumulation, batch.samples, off)
        batch.step()
    assert run.samples_done == DATASET


def check_declared_weights(batch_size, accumulation):
    x, y = make_data()
    tokens = torch.arange(DATASET, dtype=torch.double) % 11
    run = begin(batch_size, accumulation)
    for batch in run.batches(1):
        for part in batch:
            own = tokens[part.indices]
            losses = torch.nn.functional.cross_entropy(
                run.model(x[part.indices]), y[part.indices], reduction="none")
            part.backward((losses * own).sum() / own.sum().clamp(min=1e-30),
                          weight=own.sum())
        batch.reduce()
        all_of_it = samples_of(run, batch)
        reference = make_model()
        reference.load_state_dict(run.model.state_dict())
        ours = [p.grad.clone() for p in run.model.parameters()]
        if float(tokens[all_of_it].sum()) == 0:
            assert all(float(tensor.abs().max()) == 0 for tensor in ours)
        else:
            whole = whole_gradient(reference, x[all_of_it], y[all_of_it], tokens[all_of_it])
            off = difference(ours, whole)
            assert off < BOUND, (run.size, batch_size, accumulation, off)
        batch.step()


def check_training(batch_size, accumulation):
    """Two epochs with momentum and a scheduler end where one device ends."""
    x, y = make_data()
    run = begin(batch_size, accumulation)
    run.scheduler = torch.optim.lr_scheduler.StepLR(run.optimizer, 1, gamma=0.5)
    model = make_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for batch in run.batches(2):
        rate = 0.1 * 0.5 ** batch.epoch
        all_of_it = samples_of(run, batch)
        whole_gradient(model, x[all_of_it], y[all_of_it])
        optimizer.param_groups[0]["lr"] = rate
        optimizer.step()
        assert abs(run.optimizer.param_groups[0]["lr"] - rate) < 1e-15
        for part in batch:
            part.backward(loss_of(run.model, x[part.indices], y[part.indices]))
        batch.step()
    off = difference(list(run.model.parameters()), list(model.parameters()))
    assert off < BOUND, (run.size, batch_size, accumulation, off)


def wrap_distributed(model):
    if int(os.environ["WORLD_SIZE"]) == 1:
        return torch.nn.DataParallel(model)
    return torch.nn.parallel.DistributedDataParallel(model)


def in_ranks(size, root, body):
    """Forks `size` ranks of one gloo group which all call body()."""
    children = []
    for rank in range(size):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.environ.update(RANK=str(rank), WORLD_SIZE=str(size),
                                  GLOO_SOCKET_IFNAME="lo")
                dist.init_process_group("gloo", init_method=f"file://{root}/store-{size}",
                                        rank=rank, world_size=size)
                body()
                dist.destroy_process_group()
                status = 0
            except BaseException:
                print("# " + traceback.format_exc().replace("\n", "\n# "), flush=True)
            finally:
                os._exit(status)
        children.append(pid)
    statuses = [os.waitpid(pid, 0)[1] for pid in children]
    assert statuses == [0] * size, statuses


def each_size(root, body):
    for size in (1, 2, 3, 4):
        in_ranks(size, root, body)


def the_gradient_is_that_of_the_whole_batch_for_any_size_and_batch(root):
    draw = random.Random(SEED)
    print(f"# seed {SEED}")
    cases = [(1, 1), (2, 1), (3, 2), (5, 2), (7, 3), (DATASET, 1), (DATASET, 4)]
    cases += [(draw.randint(1, DATASET), draw.randint(1, 4)) for _ in range(8)]
    each_size(root, lambda: [check_gradient(*case) for case in cases])


def declared_weights_are_summed_over_the_ranks(root):
    each_size(root, lambda: [check_declared_weights(*case) for case in [(10, 1), (7, 2)]])


def training_ends_where_one_device_ends(root):
    each_size(root, lambda: [check_training(*case) for case in [(16, 1), (13, 2)]])


def a_wrapped_model_is_unwrapped(root):
    for size in (1, 2, 3):
        in_ranks(size, root, lambda: check_gradient(10, 2, wrap_distributed))


def a_part_that_declares_the_wrong_weight_is_seen_by_these_tests(root):
    def body():
        share = elastane.torch.Part.__len__
        elastane.torch.Part.__len__ = lambda part: 1
        try:
            check_gradient(7, 1)
        except AssertionError:
            return
        finally:
            elastane.torch.Part.__len__ = share
        raise RuntimeError("wrong weights went unseen")

    in_ranks(3, root, body)


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.exit(tap.run([
        the_gradient_is_that_of_the_whole_batch_for_any_size_and_batch,
        declared_weights_are_summed_over_the_ranks,
        training_ends_where_one_device_ends,
        a_wrapped_model_is_unwrapped,
        a_part_that_declares_the_wrong_weight_is_seen_by_these_tests,
    ]))
