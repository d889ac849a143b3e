#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""network_test.py - a state directory on a file system that other machines share."""

import os
import pathlib
import socket
import sqlite3
import subprocess
import sys

sys.dont_write_bytecode = True
from rig import BUILD, DAEMON, PATIENCE, TRAINER, Rig, run, until

ASAN = os.environ.get("ASAN_OPTIONS", "") + ":verify_asan_link_order=0"
WORLD = str(BUILD / "test/daemon/other_world.so")


def on_network(rig, **more):
    """The rig's state seems to lie on NFS; run-time directories are the rig's, if allowed."""
    rig.env = {"LD_PRELOAD": WORLD, "ASAN_OPTIONS": ASAN, "ELASTANE_TEST_NETWORK": str(rig.state),
               "XDG_RUNTIME_DIR": str(rig.top), **more}
    return rig


def run_dir(rig):
    return pathlib.Path((rig.state / "run").read_text().strip())


def refused(rig, *options):
    assert rig.launch(*options).wait(PATIENCE) == 1
    rig.process.stdout.close()
    rig.process = None
    return rig.log()


def train(rig, **fields):
    return rig.submit([TRAINER, "--dataset", 512, "--samples", 512, "--step-us", 1000,
                       "--checkpoints", rig.top], "train", level="elastic", batch_min=16,
                      batch_max=16, batch_base=16, gpu_batch=16, samples_total=512, **fields)


def state_on_a_network_has_no_wal_and_its_sockets_are_elsewhere():
    with Rig() as rig:
        on_network(rig).start()
        assert rig.log().count("is on NFS") == 1, rig.log()
        rig.wait(train(rig), "done")
        assert not list(rig.state.glob("state.db-wal")), list(rig.state.iterdir())
        base = sqlite3.connect(f"file:{rig.state}/state.db?mode=ro", uri=True)
        assert base.execute("PRAGMA journal_mode").fetchone()[0] != "wal"
        base.close()
        there = run_dir(rig)
        assert (there / "shim.sock").is_socket() and there.stat().st_mode & 0o66 == 0, there
        assert not [p for p in rig.state.rglob("*") if p.is_socket() and not p.is_symlink()]
        rig.check_books()
        until("no channel is left", lambda: not list(there.glob("*-*")))
        shown = subprocess.run([BUILD / "src/prog/elastane", "replay", rig.state], check=True,
                               capture_output=True, text=True)
        assert "train" in shown.stdout, shown


def killed_daemon_finds_its_shims_whatever_the_environment_says():
    with Rig() as rig:
        on_network(rig).start()
        job = rig.loop()
        rig.wait_line("log", "size 1")
        before = run_dir(rig)
        rig.kill()
        (rig.top / "other").mkdir(mode=0o700)
        rig.start(env={"XDG_RUNTIME_DIR": str(rig.top / "other")})
        rig.wait(job, "running", is_unconfirmed=False, incarnation=1)
        assert run_dir(rig) == before and not list((rig.top / "other").iterdir())
        rig.act(job, "pause")
        rig.wait_line("log", "stop")  # so the shim hears this daemon
        rig.wait(job, "paused")
        rig.touch("go")
        rig.act(job, "resume")
        rig.wait(job, "done", incarnation=2)
        rig.check_books()


def state_moves_to_a_network_and_back():
    with Rig() as rig:
        rig.start()
        first = rig.submit("true", "first")
        rig.wait(first, "done")
        rig.kill()  # its write-ahead log is left
        on_network(rig).start()
        assert rig.job(first)["state"] == "done"
        second = rig.submit("true", "second")
        rig.wait(second, "done")
        assert not list(rig.state.glob("state.db-wal"))
        until("its shim has left", lambda: not rig.processes())
        rig.kill()
        rig.env = {}
        rig.start()
        assert rig.job(second)["state"] == "done"
        assert list(rig.state.glob("state.db-wal"))
        rig.check_books()


def shim_of_a_time_when_sockets_lay_in_the_state_is_adopted():
    with Rig() as rig:
        rig.start()
        job = rig.loop()
        rig.wait_line("log", "size 1")
        rig.kill()
        on_network(rig).start()
        rig.wait(job, "running", is_unconfirmed=False, incarnation=1)
        rig.act(job, "cancel")
        rig.wait_line("log", "stop")
        rig.wait(job, "cancelled", incarnation=1)
        rig.check_books()


def lock_of_another_host_is_refused_with_what_to_do():
    with Rig() as rig:
        on_network(rig).start()
        held = (rig.state / "lock").read_text()
        host, boot, pid = held.splitlines()[1].split()
        assert host == socket.gethostname() and int(pid) == rig.process.pid, held
        assert boot == pathlib.Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        rig.kill()
        (rig.state / "lock").write_text(held.replace(host, "elsewhere"))
        said = refused(rig)
        for word in ("elsewhere", boot, pid, f"remove {rig.state}/lock"):
            assert word in said, (word, said)
        (rig.state / "lock").unlink()
        rig.start()
        rig.stop()
        assert (rig.state / "lock").read_text() == ""  # another host may come
        rig.start()


def lock_of_an_earlier_boot_or_a_dead_process_is_taken():
    with Rig() as rig:
        on_network(rig).start()
        rig.kill()
        boot = rig.top / "boot"
        boot.write_text("11111111-2222-3333-4444-555555555555\n")
        rig.start(env={"ELASTANE_TEST_BOOT": str(boot)})
        assert boot.read_text().strip() in (rig.state / "lock").read_text()
        with (rig.top / "second").open("wb") as log:
            second = subprocess.run([DAEMON, "--state", rig.state, "--socket", rig.top / "t",
                                     "--devices", "1"], stderr=log, check=False,
                                    env={**os.environ, **rig.env}, timeout=PATIENCE)
        said = (rig.top / "second").read_text()
        assert second.returncode == 1 and boot.read_text().strip() in said, said
        assert f"pid {rig.process.pid} on {socket.gethostname()}" in said, said


def run_time_directory_of_others_is_not_used():
    with Rig() as rig:
        on_network(rig)
        if os.geteuid() == 0:
            rig.state.mkdir(mode=0o700)
            (rig.top / "open").mkdir()
            (rig.top / "open").chmod(0o777)
            (rig.state / "run").write_text(f"{rig.top}/open/sockets\n")
            rig.start()
            assert run_dir(rig).parent != rig.top / "open", run_dir(rig)
            return
        (rig.top / "elastane").mkdir()
        (rig.top / "elastane").chmod(0o777)
        rig.start()
        assert run_dir(rig).parent != rig.top / "elastane", run_dir(rig)


def socket_with_a_path_that_no_client_can_reach_is_refused():
    with Rig() as rig:
        deep = rig.top / ("d" * 100)
        deep.mkdir()
        process = rig.launch("--socket", deep / "s")
        assert process.wait(PATIENCE) == 2
        process.stdout.close()
        rig.process = None
        assert "at most 107" in rig.log(), rig.log()


run([state_on_a_network_has_no_wal_and_its_sockets_are_elsewhere,
     killed_daemon_finds_its_shims_whatever_the_environment_says,
     state_moves_to_a_network_and_back,
     shim_of_a_time_when_sockets_lay_in_the_state_is_adopted,
     lock_of_another_host_is_refused_with_what_to_do,
     lock_of_an_earlier_boot_or_a_dead_process_is_taken,
     run_time_directory_of_others_is_not_used,
     socket_with_a_path_that_no_client_can_reach_is_refused])
