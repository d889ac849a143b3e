# SPDX-License-Identifier: Apache-2.0
"""Runs test functions and prints TAP; each test's name is a sentence."""

import os
import pathlib
import sys
import tempfile
import traceback

SOURCE = pathlib.Path(os.environ.get("ELASTANE_SOURCE") or
                      pathlib.Path(__file__).resolve().parents[2])
BUILD = pathlib.Path(os.environ.get("ELASTANE_BUILD") or SOURCE / "build").resolve()
LIBRARY = BUILD / "src/libelastane/libelastane.so.1"

os.environ["ELASTANE_LIBRARY"] = str(LIBRARY)
sys.path[:0] = [str(SOURCE / "python"), str(SOURCE / "examples")]


def run(tests):
    """Each function gets a directory of its own. Exit status 1 when one failed."""
    chosen = [t for t in tests
              if len(sys.argv) < 2 or any(word in t.__name__ for word in sys.argv[1:])]
    print(f"1..{len(chosen)}", flush=True)
    failed = 0
    for number, test in enumerate(chosen, 1):
        with tempfile.TemporaryDirectory(prefix="elastane-test-") as root:
            try:
                test(pathlib.Path(root))
                print(f"ok {number} {test.__name__}", flush=True)
            except Exception:
                failed += 1
                print(f"not ok {number} {test.__name__}")
                for line in traceback.format_exc().splitlines():
                    print(f"# {line}", flush=True)
    return 1 if failed else 0
