"""The tests that need a lab that is up: which parts, in which order, and did they leave the cloud as it was?

    python lab/suite.py [PART...]

contract      the contract suite of the cloud ports, unchanged, on the lab
stories       what users and operators see, told on several lanes at once
disturbances  stories that stop processes, servers and APIs, one after another
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from blazar_lab.settings import Settings
from labtests import leftovers
from labtests.machinery import Machinery
from openstack.connection import Connection

REPOSITORY = Path(__file__).resolve().parents[1]
HOSTS_IN_A_LANE = 2
"""Some stories want another host than the one that something happens to."""


def contract(settings: Settings) -> list[str]:
    return ["-m", "lab", "server/tests/contract"]


def stories(settings: Settings) -> list[str]:
    lanes = max(settings.computes // HOSTS_IN_A_LANE, 1)
    return [*(("-n", str(lanes), "--dist", "load") if lanes > 1 else ()), "-m", "not disturbing", "lab/tests"]


def disturbances(settings: Settings) -> list[str]:
    return ["-m", "disturbing", "lab/tests"]


PARTS: Mapping[str, Callable[[Settings], list[str]]] = {
    "contract": contract,
    "stories": stories,
    "disturbances": disturbances,
}


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all of them by default")
    wanted = parser.parse_args(arguments).parts or list(PARTS)
    settings = Settings.load()
    ailing = Machinery(settings).ailing() if settings.record_path.exists() else ["there is none; make lab makes one"]
    if ailing:
        print(f"The lab is not healthy: {'; '.join(ailing)}.", file=sys.stderr)
        return 2
    os.environ |= {"OS_CLIENT_CONFIG_FILE": str(settings.clouds_yaml), "OS_CLOUD": "lab-admin"}
    with Connection(cloud="lab-admin") as admin:
        before = leftovers.snapshot(admin)
        results = {part: _run(part, PARTS[part](settings), settings) for part in wanted}
        left = leftovers.after(admin, before)
    for part, result in results.items():
        print(f"{part:<13} {result}")
    print(f"{'leftovers':<13} {'none' if not left else '; '.join(left)}")
    return int(bool(left) or any(not result.startswith("passed") for result in results.values()))


def _run(part: str, words: list[str], settings: Settings) -> str:
    """Run a part of the suite; its result in a few words."""
    print(f"== {part}", flush=True)
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--tb=short", "--durations=5", *words],
        cwd=REPOSITORY,
        env={**os.environ, "BLAZAR_TEST_CLOUDS_YAML": str(settings.clouds_yaml)},
    )
    # 5 is said where there was nothing to run, which would be a failure of its own kind
    words_of = {0: "passed", 1: "FAILED"}
    return f"{words_of.get(done.returncode, f'FAILED ({done.returncode})')} in {time.monotonic() - began:.0f} s"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
