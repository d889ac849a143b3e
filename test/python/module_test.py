#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The module without a daemon: the same as C, and harmless where there is nothing."""

import collections
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import tap  # noqa: E402

import elastane  # noqa: E402
from elastane import _library  # noqa: E402


def dump(*words):
    return json.loads(subprocess.run([tap.BUILD / "test/python/api_dump", *map(str, words)],
                                     stdout=subprocess.PIPE, check=True).stdout)


def python(code, **environment):
    """Runs code in a fresh interpreter; returns what it printed."""
    plain = {key: value for key, value in os.environ.items()
             if not key.startswith("ELASTANE_") and key not in ("RANK", "WORLD_SIZE")}
    plain.update(PYTHONPATH=str(tap.SOURCE / "python"), **environment)
    return subprocess.run(["/usr/bin/python3", "-c", code], env=plain, check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE).stdout.strip()


def the_structs_are_laid_out_as_in_c(root):
    for kind, field, offset in dump("layout"):
        struct = getattr(_library, kind)
        ours = getattr(struct, field).offset if field else _library.ctypes.sizeof(struct)
        assert ours == offset, (kind, field, ours, offset)


def every_function_of_the_header_is_described(root):
    header = (tap.SOURCE / "src/libelastane/elastane.h").read_text()
    declared = {word.split("(")[0].lstrip("*") for line in header.splitlines()
                if line.startswith("ELASTANE_API")
                for word in line.split() if "(" in word}
    assert declared - {"elastane_lr_rule_ppm"} == set(_library._SIGNATURES), declared


def the_ledger_gives_the_same_samples_as_in_c(root):
    for seed, n, batch_size, size, steps in [(0, 10, 4, 1, 9), (7, 103, 13, 4, 25),
                                             (2**63, 60000, 250, 3, 4), (1, 5, 8, 2, 3)]:
        theirs = iter(dump("ledger", seed, n, batch_size, size, steps))
        done = 0
        for _ in range(steps):
            for rank in range(size):
                plan = elastane.Plan(rank=rank, size=size, global_batch=batch_size,
                                     accumulation=1)
                batch = elastane.next_batch(plan, n, done)
                ours = elastane.indices(seed, n, batch.position + batch.own_offset,
                                        batch.own_samples)
                assert [rank, *ours] == next(theirs), (seed, n, done, rank)
            done += batch.samples


def parts_of_a_batch_sum_to_it_for_every_size(root):
    for size in range(1, 5):
        for batch_size in range(1, 40):
            for accumulation in (1, 2, 3):
                plans = [elastane.Plan(rank=rank, size=size, global_batch=batch_size,
                                       accumulation=accumulation) for rank in range(size)]
                shares = [sum(elastane.passes(elastane.next_batch(plan, 1000, 0)))
                          for plan in plans]
                assert sum(shares) == batch_size and max(shares) - min(shares) <= 1, shares


def without_a_daemon_a_session_is_alone(root):
    with elastane.Session(default_batch=48) as session:
        assert session.mode == elastane.ALONE and session.message == ""
        assert (session.plan.size, session.plan.global_batch) == (1, 48), session.plan
        session.resume(96)
        assert session.step(48) == elastane.CONTINUE and session.samples_done == 144
        assert session.saved() == elastane.CONTINUE
        assert session.save_failed("full") == elastane.CONTINUE
        session.measured_micro(48, 1000)
        session.set_phase(elastane.PHASE_EVAL)
        session.done()
    assert elastane.lr_factor(session.plan, 0) == 1.0


WALK = """
import elastane
with elastane.Session(6) as session:
    seen = []
    while session.samples_done < 40:
        b = elastane.next_batch(session.plan, 20, session.samples_done)
        seen += elastane.indices(3, 20, b.position + b.own_offset, b.own_samples)
        session.step(b.samples)
print(elastane.has_library(), session.plan.rank, session.plan.size, sorted(seen))
"""


def without_the_library_a_script_runs_all_the_same(root):
    twice = sorted([*range(20)] * 2)
    assert python(WALK, ELASTANE_LIBRARY="") == f"False 0 1 {twice}"
    assert python(WALK, ELASTANE_LIBRARY=str(tap.LIBRARY)) == f"True 0 1 {twice}"


def ranks_of_another_launcher_share_the_batch_with_and_without_the_library(root):
    for library in ("", str(tap.LIBRARY)):
        seen = collections.Counter()
        for rank in range(3):
            answer = python(WALK, ELASTANE_LIBRARY=library, RANK=str(rank), WORLD_SIZE="3")
            assert answer.startswith(f"{bool(library)} {rank} 3 "), answer
            seen.update(json.loads(answer[answer.index("["):]))
        assert seen == collections.Counter({index: 2 for index in range(20)}), seen


def a_library_that_is_named_and_missing_is_an_error(root):
    try:
        python("import elastane", ELASTANE_LIBRARY=str(root / "nothing.so"))
    except subprocess.CalledProcessError:
        return
    raise AssertionError("it was imported")


def the_source_tree_finds_its_own_build(root):
    found = python("import elastane; print(elastane.has_library())")
    default = tap.SOURCE / "build/src/libelastane" / _library.SONAME
    assert found == "True" or not default.exists(), found


def a_checkpoint_comes_back_with_its_ledger(root):
    assert elastane.checkpoint_latest(root / "none") is None
    for number in (1, 2, 3):
        made = elastane.checkpoint_save(root, lambda path: pathlib.Path(path).write_text("x"),
                                        samples_done=100 * number, dataset_size=77, seed=9,
                                        step=number, generation=4)
    found = elastane.checkpoint_latest(root)
    assert found.manifest == made.manifest and found.data_bytes == 1
    assert (found.samples_done, found.dataset_size, found.seed, found.step,
            found.generation) == (300, 77, 9, 3, 4)
    assert len(list(root.glob("*.manifest"))) == 2, "the previous one is kept, no more"
    pathlib.Path(os.fsdecode(found.path)).write_text("y")
    assert elastane.checkpoint_latest(root).samples_done == 200, "a damaged one is passed over"


def r16_a_save_that_fails_leaves_the_last_good_checkpoint(root):
    def too_long(path):
        with open(path, "wb") as out:
            out.write(bytes(100000))

    elastane.checkpoint_save(root, lambda path: pathlib.Path(path).write_text("x"),
                             samples_done=5)
    before = sorted(path.name for path in root.iterdir())
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
    try:
        elastane.checkpoint_save(root, too_long, samples_done=6)
        raise AssertionError("it was saved")
    except OSError as error:
        assert "large" in str(error), error
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert sorted(path.name for path in root.iterdir()) == before
    assert elastane.checkpoint_latest(root).samples_done == 5


if __name__ == "__main__":
    sys.exit(tap.run([
        the_structs_are_laid_out_as_in_c,
        every_function_of_the_header_is_described,
        the_ledger_gives_the_same_samples_as_in_c,
        parts_of_a_batch_sum_to_it_for_every_size,
        without_a_daemon_a_session_is_alone,
        without_the_library_a_script_runs_all_the_same,
        ranks_of_another_launcher_share_the_batch_with_and_without_the_library,
        a_library_that_is_named_and_missing_is_an_error,
        the_source_tree_finds_its_own_build,
        a_checkpoint_comes_back_with_its_ledger,
        r16_a_save_that_fails_leaves_the_last_good_checkpoint,
    ]))
