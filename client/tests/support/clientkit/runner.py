"""The execution of `blazar` and `openstack` commands in tests."""

from __future__ import annotations

import io
import logging
import shlex
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from blazarclient.clock import Clock, SystemClock
from blazarclient.shell import BlazarShell, main

from .recorder import RecordedRequest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its libraries' futures, not of ours
    from openstackclient import shell as openstack_shell
    from osc_lib.clientmanager import ClientCache, ClientManager


class FakeClock:
    """A clock that advances only when it sleeps."""

    def __init__(self, now: datetime) -> None:
        self.present = now
        self.slept: list[float] = []

    def now(self) -> datetime:
        return self.present

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.present += timedelta(seconds=seconds)


@dataclass(frozen=True)
class Ran:
    """The exit code and the output of a command, with its requests."""

    code: int
    out: str
    err: str
    requests: Sequence[RecordedRequest] = ()


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


Blazar = Callable[..., Ran]
Program = Callable[[str], Ran]


@contextmanager
def commands(recorded: Sequence[RecordedRequest] = (), clock: Clock | None = None) -> Iterator[Blazar]:
    """Run `blazar` commands in this process; `recorded` is the list of a recording cloud's requests.

    `typed` is what is typed at a terminal when a command asks."""

    def run(line: str, *, terminal: bool = False, typed: str = "") -> Ran:
        before = len(recorded)
        out, err = (Terminal(), Terminal()) if terminal else (io.StringIO(), io.StringIO())
        stdin = Terminal(typed) if typed else io.StringIO()
        shell = BlazarShell(stdin, out, err, clock or SystemClock())
        code = _run(lambda: main(shlex.split(line), shell), out, err)
        return Ran(code, out.getvalue(), err.getvalue(), recorded[before:])

    with handlers_restored():
        yield run


# How the standalone command calls what `openstack reservation` calls otherwise.
_STANDALONE_NAMES = (("lease set", "lease update"), ("host set", "host update"))
_NOUNS = (
    "lease share",
    "lease",
    "host property",
    "host",
    "floatingip",
    "volumetype",
    "networksegment",
    "portpool",
    "allocation",
    "calendar",
    "capacity",
    "availability",
    "offer",
    "series",
    "waitlist",
    "subscription",
    "feed",
    "mail",
    "quota",
    "usage",
    "service",
)


@contextmanager
def programs() -> Iterator[dict[str, Program]]:
    """Return both programs for lines in the plugin's words: ``lease set NAME ...``."""
    with commands() as blazar:
        yield {"blazar": lambda line: blazar(_standalone(line)), "openstack": _openstack}


def _openstack(line: str) -> Ran:
    out, err = io.StringIO(), io.StringIO()
    code = run_program(["openstack", "reservation", *shlex.split(line)], out, err)
    return Ran(code, out.getvalue(), err.getvalue())


def run_program(words: Sequence[str], out: io.StringIO, err: io.StringIO) -> int:
    """Run `openstack` or `blazar` in this process and return the exit code."""
    name, arguments = words[0], list(words[1:])
    if name == "blazar":
        return _run(lambda: main(arguments, BlazarShell(io.StringIO(), out, err)), out, err)
    assert name == "openstack"
    for attribute in vars(ClientManager).values():
        if isinstance(attribute, ClientCache):
            attribute._handle = None  # it keeps the first user's client, as long as the process lives
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return _run(lambda: openstack_shell.main(arguments), out, err)


def _standalone(line: str) -> str:
    for plugin, standalone in _STANDALONE_NAMES:
        if line.startswith(plugin):
            line = standalone + line.removeprefix(plugin)
    noun = next(noun for noun in _NOUNS if line.startswith(noun))
    return noun.replace(" ", "-") + "-" + line.removeprefix(noun).lstrip()


def _run(program: Callable[[], int], out: io.StringIO, err: io.StringIO) -> int:
    with redirect_stdout(out), redirect_stderr(err):  # argparse knows no other streams
        try:
            return program()
        except SystemExit as leaving:  # argparse leaves so
            return int(str(leaving.code))


def bodies(blazar: Blazar, line: str) -> list[Any]:
    """Return the bodies of the requests that change something."""
    ran = blazar(line)
    assert ran.code == 0, ran.err
    return [request.body for request in ran.requests if request.method != "GET"]


@contextmanager
def handlers_restored() -> Iterator[None]:
    """Restore the logging of the process, which both programs change."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
