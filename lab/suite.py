"""Run the tests that need the lab, and compare the cloud before and after them.

    python lab/suite.py [--thorough] [PART...]

contract      the contract suite of the cloud ports, unchanged, on the lab
stories       what users and operators see, with several workers side by side
disturbances  stories that stop processes, servers and APIs, one after another

Contract and stories run at the same time where the lab has enough computes for both. --thorough adds what
takes long: stories beside one that shows the same of another kind, and disturbances that differ from another
one only in what is stopped, and how.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from blazar_lab.settings import Settings
from labtests import leftovers, occupancy, workers
from labtests.processes import LabProcesses
from openstack.connection import Connection

REPOSITORY = Path(__file__).resolve().parents[1]
HOSTS_PER_WORKER = 2
"""Some stories need a second host beside the one that they disturb."""
HOSTS_OF_CONTRACT = 2
HOSTS_OF_DISTURBANCES = 4
HOSTS_SIDE_BY_SIDE = 2 * HOSTS_PER_WORKER + HOSTS_OF_CONTRACT
"""A single worker cleans up the whole cloud, so contract and stories run together only beside several."""


@dataclass(frozen=True)
class Part:
    """A part of the suite: the arguments of pytest, and what the environment adds."""

    name: str
    arguments: Sequence[str]
    environment: Mapping[str, str] = field(default_factory=dict)


def contract(hosts: Sequence[str]) -> Part:
    return Part("contract", ["-m", "lab", "server/tests/contract"], {"BLAZAR_TEST_HOSTS": ",".join(hosts)})


def stories(hosts: Sequence[str]) -> Part:
    count = max(len(hosts) // HOSTS_PER_WORKER, 1)
    parallel = ("-n", str(count), "--dist", "worksteal") if count > 1 else ()
    return Part("stories", [*parallel, "-m", "not alone", "lab/tests"], {workers.HOSTS: ",".join(hosts)})


def disturbances(hosts: Sequence[str]) -> Part:
    return Part("disturbances", ["-m", "alone", "lab/tests"], {workers.HOSTS: ",".join(hosts)})


def main(arguments: Sequence[str]) -> int:
    options = parsed(arguments)
    settings = Settings.load()
    if options.thorough:
        os.environ["BLAZAR_TEST_EFFORT"] = "thorough"
    os.environ |= {"OS_CLIENT_CONFIG_FILE": str(settings.clouds_yaml), "OS_CLOUD": "lab-admin"}
    if message := unhealthy(LabProcesses(settings).unhealthy if settings.record_path.exists() else None):
        return refused(message)
    with Connection(cloud="lab-admin") as admin:
        if message := occupancy.refusal(occupancy.found(admin)):
            return refused(message)
        before = leftovers.snapshot(admin)
        results = run_all(settings, admin, options.parts or list(PARTS))
        left = leftovers.after(admin, before)
    for name, result in results.items():
        print(f"{name:<13} {result}")
    print(f"{'leftovers':<13} {'none' if not left else '; '.join(left)}")
    return int(bool(left) or any(not result.startswith("passed") for result in results.values()))


PARTS = ("contract", "stories", "disturbances")


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--thorough", action="store_true", help="add what takes long")
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all of them by default")
    return parser.parse_args(arguments)


def unhealthy(check: Callable[[], list[str]] | None) -> str:
    """Return a message about unhealthy services or a lab that does not exist; "" if all is well."""
    faults = check() if check else ["there is none; make lab makes one"]
    return f"The lab is not healthy: {'; '.join(faults)}." if faults else ""


def refused(message: str) -> int:
    print(message, file=sys.stderr)
    return 2


def run_all(settings: Settings, admin: Connection, wanted: Sequence[str]) -> dict[str, str]:
    """Run the wanted parts; return the result of each in a few words."""
    hosts = workers.all_hosts(settings.computes)
    results: dict[str, str] = {}
    if {"contract", "stories"} <= set(wanted) and len(hosts) >= HOSTS_SIDE_BY_SIDE:
        lent, rest = hosts[:HOSTS_OF_CONTRACT], hosts[HOSTS_OF_CONTRACT:]
        with in_freepool(admin, lent), ThreadPoolExecutor(1) as pool:
            beside = pool.submit(run, contract(lent), settings, quiet=True)
            results["stories"] = run(stories(rest), settings)
            results["contract"] = beside.result()
    else:
        if "contract" in wanted:
            results["contract"] = run(contract(hosts[:HOSTS_OF_CONTRACT]), settings)
        if "stories" in wanted:
            results["stories"] = run(stories(hosts), settings)
    if "disturbances" in wanted:
        results["disturbances"] = run(disturbances(hosts[:HOSTS_OF_DISTURBANCES]), settings)
    return results


@contextmanager
def in_freepool(admin: Connection, hosts: Sequence[str]) -> Iterator[None]:
    """Keep hosts in the freepool, so that no story's server that belongs nowhere finds a place on them."""
    freepool = admin.compute.find_aggregate("freepool", ignore_missing=False)
    for host in hosts:
        admin.compute.add_host_to_aggregate(freepool, host)
    try:
        yield
    finally:
        for host in hosts:
            admin.compute.remove_host_from_aggregate(freepool, host)


def run(part: Part, settings: Settings, *, quiet: bool = False) -> str:
    """Run a part, and return its result in a few words; ``quiet`` prints its output at the end."""
    began = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "--tb=short", "--durations=5", *part.arguments]
    environment = {**os.environ, "BLAZAR_TEST_CLOUDS_YAML": str(settings.clouds_yaml), **part.environment}
    with tempfile.TemporaryFile("w+") as output:
        if not quiet:
            print(f"== {part.name}", flush=True)
        where = {"stdout": output, "stderr": subprocess.STDOUT} if quiet else {}
        done = subprocess.run(command, cwd=REPOSITORY, env=environment, **where)
        if quiet:
            output.seek(0)
            print(f"== {part.name}\n{output.read()}", flush=True)
    # pytest returns 5 where it found nothing to run, which is a failure here
    words = {0: "passed", 1: "FAILED"}.get(done.returncode, f"FAILED ({done.returncode})")
    return f"{words} in {time.monotonic() - began:.0f} s"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
