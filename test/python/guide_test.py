#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Every command of docs/guide/your-script.md, in its order, against a real daemon."""

import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "tools")]
import tap  # noqa: E402
from daemon import Daemon  # noqa: E402

GUIDE = tap.SOURCE / "docs/guide/your-script.md"


def blocks(text, kind):
    return re.findall(rf"^```{kind}\n(.*?)^```$", text, re.M | re.S)


def every_command_of_the_guide_works(root):
    text = GUIDE.read_text()
    home = root / "home"
    programs = root / "bin"
    for directory in (home, programs):
        directory.mkdir()
    for block in blocks(text, "python") + blocks(text, "sh"):
        (home / block.split("\n", 1)[0].removeprefix("# ")).write_text(block)
    commands = [line[2:] for block in blocks(text, "console") for line in block.splitlines()]
    assert all(line.startswith("$ ") for block in blocks(text, "console")
               for line in block.splitlines()), "a line of a console block is no command"
    for name in ("torchrun", "accelerate"):
        (programs / name).symlink_to(tap.SOURCE / "test/support/fake_accelerate.py")
    with Daemon(tap.BUILD, root, 2, ["--min-run", "1s", "--min-gap", "1s"]) as daemon:
        (programs / "elastane").symlink_to(daemon.program("elastane"))
        done = subprocess.run(["/bin/bash", "-eux", "-c", "\n".join(commands)], cwd=home, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                              env={"PATH": f"{programs}:/usr/bin:/bin", "HOME": str(home),
                                   "ELASTANE_SOCKET": daemon.socket})
        jobs = {job["name"]: job for job in daemon.get("/v1/jobs?all=1")["jobs"]}
        logs = {name: daemon.log_of(job["id"]) for name, job in jobs.items()}
        assert done.returncode == 0, f"{done.stdout[-3000:]}\n{logs}"
        assert not daemon.leftovers()
    assert {job["state"] for job in jobs.values()} == {"done"}, jobs
    for name in ("plain", "torchrun", "accelerate"):
        saved = re.findall(r"^saved at step (\d+)$", logs[name], re.M)
        begun = re.findall(r"^start at step (\d+) ", logs[name], re.M)
        assert saved[-1] == "150" and set(begun) == {"0", *saved[:-1]}, logs[name]
    assert "finished with 640" in logs["wrapper"], logs["wrapper"]
    assert (jobs["wrapper"]["samples_done"], jobs["wrapper"]["samples_total"]) == (640, 640), \
        jobs["wrapper"]
    assert "hello from 1 device" in done.stdout


if __name__ == "__main__":
    os.environ.pop("ELASTANE_SOCKET", None)
    sys.exit(tap.run([every_command_of_the_guide_works]))
