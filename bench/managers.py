"""How many leases several managers create that have a part of a core each.

All parts of a site share the cores of one machine, so managers without a limit only take them from each
other, and from the database, the broker and the API. With a limit, as if each manager had a slow core of its
own, the others have what they need, and what is measured is whether managers add up. The limit is one of
Linux's control groups, which only root may make."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import uuid4

import bulk
from growth import EACH, GrowthSite, crowd, processor_times
from service import now
from sites import Unavailable, require_servers

HOSTS = 1_000
MANAGERS = (1, 2, 3)
CLIENTS = 4
"""For each manager."""
USERS = ("demo", "alt", "admin", "blazar")
"""Each of a project of its own: the creates of one project wait for each other, so that its limits hold."""
SHARE = 0.25
"""Of a core, for each manager."""
PERIOD = 10_000
"""Microseconds in which a manager may use its share. After that it stands still until the next ones."""
WARM_UP = 20.0
"""Seconds in which managers work without a limit."""
LASTING = 30.0
"""Seconds in which they work with it."""
GROUPS = Path("/sys/fs/cgroup")
Row = Sequence[object]
HEAD: Row = (
    *("managers", "clients", "leases/s", "times one manager's", "median ms", "p99 ms", "refused"),
    *("CPU ms of all managers each", "of their shares used %", "API CPU ms each", "cores idle %"),
)


class ManagersSite(GrowthSite):
    """A site whose API has as many threads as there are clients, so that no manager waits for them."""

    api_threads = CLIENTS * max(MANAGERS)


class CoreShare:
    """A limit of processor time for processes. To be used as a context manager."""

    def __init__(self, share: float) -> None:
        has_own_tree = (GROUPS / "cpu/cpu.shares").exists()  # version 1 of control groups
        self._group = (GROUPS / "cpu" if has_own_tree else GROUPS) / f"blazar-bench-{uuid4().hex[:10]}"
        quota = int(share * PERIOD)
        limits = {"cpu.cfs_period_us": PERIOD, "cpu.cfs_quota_us": quota}
        self._limits = limits if has_own_tree else {"cpu.max": f"{quota} {PERIOD}"}

    def __enter__(self) -> CoreShare:
        try:
            self._group.mkdir()
            for name, value in self._limits.items():
                (self._group / name).write_text(str(value))
        except OSError as error:
            raise Unavailable(f"the processor time of a program cannot be limited here: {error}") from error
        return self

    def __exit__(self, *_: object) -> None:
        """The processes have to have ended."""
        self._group.rmdir()

    def limit(self, processes: Sequence[int]) -> None:
        _put(processes, self._group)

    def lift(self, processes: Sequence[int]) -> None:
        """Let the processes have a core of their own again."""
        _put(processes, self._group.parent)


def _put(processes: Sequence[int], group: Path) -> None:
    for process in processes:  # the kernel takes one at a time
        (group / "cgroup.procs").write_text(str(process))


def prepare() -> None:
    require_servers()
    with CoreShare(SHARE):
        pass


def table(scratch: Path, numbers: Sequence[int] = MANAGERS) -> list[Row]:
    """Measure so many managers, each with SHARE of a core and CLIENTS, after they have worked without a
    limit."""
    most = max(numbers)
    found: dict[int, _Measured] = {}
    with _shares(most) as shares, ManagersSite(scratch / "managers", HOSTS, most) as site:
        number = HOSTS * EACH
        site.fill(lambda engine: bulk.fill(engine, HOSTS, number, number, now()))
        site.start_manager(site.manager)
        site.settle()
        for managers in sorted(numbers):
            for program in site.managers[:managers]:
                if not program.runs:
                    site.start_manager(program)
            found[managers] = _measured(site, managers, shares)
    one = found[min(found)].leases_per_second
    return [HEAD, *(found[managers].row(managers, one) for managers in sorted(found))]


@contextmanager
def _shares(number: int) -> Iterator[Sequence[CoreShare]]:
    with ExitStack() as stack:
        yield [stack.enter_context(CoreShare(SHARE)) for _ in range(number)]


@dataclass(frozen=True)
class _Measured:
    leases_per_second: float
    median: float
    """Milliseconds of a create, as all further times."""
    p99: float
    refused: int
    manager_cpu: float
    """Of all managers together, for each lease."""
    used: float
    """The share of their processor time that the managers have used."""
    api_cpu: float
    idle: float
    """The share of the machine's processor time that nothing has used."""

    def row(self, managers: int, one: float) -> Row:
        measured = (self.median, self.p99, self.refused, self.manager_cpu, 100 * self.used)
        rounded = (round(each, 1) for each in (*measured, self.api_cpu, 100 * self.idle))
        times = round(self.leases_per_second / one, 2)
        return managers, managers * CLIENTS, round(self.leases_per_second, 1), times, *rounded


def _measured(site: GrowthSite, managers: int, shares: Sequence[CoreShare]) -> _Measured:
    running, clients = site.managers[:managers], managers * CLIENTS
    crowd(site, clients, WARM_UP, USERS)
    for program, share in zip(running, shares, strict=False):
        share.limit(program.processes())
    idle = _idle_seconds()
    with processor_times([*running, site.api]) as used:
        taken, refused, seconds = crowd(site, clients, LASTING, USERS)
    idle = _idle_seconds() - idle
    for program, share in zip(running, shares, strict=False):
        share.lift(program.processes())
    *of_managers, of_api = used
    return _Measured(
        len(taken) / seconds,
        1000 * taken[len(taken) // 2],
        1000 * taken[int(len(taken) * 0.99)],
        refused,
        1000 * sum(of_managers) / len(taken),
        sum(of_managers) / (managers * SHARE * seconds),
        1000 * of_api / len(taken),
        idle / (seconds * (os.cpu_count() or 1)),
    )


def _idle_seconds() -> float:
    """Return the seconds that the cores of the machine have been idle since it was started, together."""
    return int(Path("/proc/stat").read_text().split()[4]) / os.sysconf("SC_CLK_TCK")
