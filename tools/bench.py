#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""bench.py BUILD OUT - runs every benchmark of BUILD and writes their JSON lines to OUT.

Each line gets the name of its program; a benchmark that fails, or prints something that is
no JSON object, ends the whole with status 1."""

import json
import pathlib
import subprocess
import sys


def read_lines(test):
    """The figures of one program, or an exception that says what is wrong."""
    name = test["name"].split(":", 1)[-1]
    if test["result"] != "OK":
        raise ValueError(f"{name} ended with {test['result'].lower()}:\n{test.get('stderr', '')}")
    figures = [json.loads(line) for line in test["stdout"].splitlines() if line.strip()]
    for figure in figures:
        if not isinstance(figure, dict) or "value" not in figure:
            raise ValueError(f"{name} printed {figure!r}, which is no figure")
        figure["program"] = name
    return figures


def main():
    build, out = map(pathlib.Path, sys.argv[1:3])
    log = build / "meson-logs/bench.json"
    log.unlink(missing_ok=True)
    subprocess.run(["meson", "test", "-C", build, "--benchmark", "--num-processes", "1",
                    "--logbase", "bench"], check=False)
    figures = []
    status = 0
    for line in log.read_text().splitlines() if log.exists() else []:
        try:
            figures += read_lines(json.loads(line))
        except ValueError as error:
            print(f"bench: {error}", file=sys.stderr)
            status = 1
    out.write_text("".join(json.dumps(figure, sort_keys=True) + "\n" for figure in figures))
    for figure in figures:
        print(f"{figure['program']:<24} {figure.get('bench', ''):<36} "
              f"{figure['value']:>14} {figure.get('unit', '')}")
    print(f"{len(figures)} figures in {out}")
    return status


if __name__ == "__main__":
    sys.exit(main())
