"""Whether a program that makes and frees large arrays gets new pages for each."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping

import pytest

from blazar.cmd.process import ALLOCATION_VARIABLES

PROGRAM = """
import resource, sys
import numpy as np
from blazar.cmd.process import keep_freed_memory
if "keep" in sys.argv:
    keep_freed_memory()
np.ones(131_072)
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(200):
    np.ones(131_072)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""
PAGES = 200 * 256
"""How many pages of 4 KiB the arrays are: each is smaller than a huge page."""


def faults(*words: str, **variables: str) -> int:
    environment: Mapping[str, str] = {
        name: value for name, value in os.environ.items() if name not in ALLOCATION_VARIABLES
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        env={**environment, **variables},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return int(done.stdout)


@pytest.mark.slow
def test_arrays_are_made_in_what_others_have_freed() -> None:
    assert faults("keep") < PAGES / 10


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "value"),
    [("MALLOC_MMAP_THRESHOLD_", "65536"), ("GLIBC_TUNABLES", "glibc.malloc.mmap_threshold=65536")],
)
def test_the_environment_comes_first(name: str, value: str) -> None:
    assert faults("keep", **{name: value}) > PAGES / 2


@pytest.mark.slow
def test_huge_arrays_go_back_to_the_kernel() -> None:
    program = """
import resource
import numpy as np
from blazar.cmd.process import keep_freed_memory
keep_freed_memory()
def size(): return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
before = size()
for _ in range(2):
    np.ones(20_000_000)
print(size() - before)
"""
    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, check=True)
    assert int(done.stdout) < 80_000_000
