"""The parts that all programs share: configuration and logs at the start, signals at the end."""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import metadata
from types import FrameType

from oslo_config import cfg
from oslo_log import log

from blazar import conf as options
from blazar.cmd.listener import BACKLOG
from blazar.conf import former

LOG = logging.getLogger(__name__)
VERSION = metadata.version("blazar")

SWITCH_SECONDS = 0.0005
"""Python's thread switch interval. A thread that has an answer of the database or of the cloud waits so long,
at the most, for one that computes. With Python's 5 ms, a create beside the worst plans of another project
waits that long some twenty times."""


def switch_threads_often() -> None:
    sys.setswitchinterval(SWITCH_SECONDS)


@contextmanager
def loading() -> Iterator[None]:
    """Load inside the block, without collections of garbage: what is loaded is no garbage, and Python would
    look through it again and again while it grows. Later collections leave it out as well."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
    spare_from_collection()


def spare_from_collection() -> None:
    """Leave all that is loaded now, such as modules and calendars, out of collections of garbage.

    Python looks through all objects from time to time, to find those that only refer to one another. With
    100,000 allocations that stops all threads for a quarter of a second. What is loaded here is freed
    without it as soon as nothing refers to it."""
    gc.collect()
    gc.freeze()


MEBIBYTE = 1024 * 1024
ALLOCATION_VARIABLES = (
    "GLIBC_TUNABLES",
    "MALLOC_ARENA_MAX",
    "MALLOC_MMAP_THRESHOLD_",
    "MALLOC_TRIM_THRESHOLD_",
)
MALLOPT = {-3: 32 * MEBIBYTE, -1: 64 * MEBIBYTE, -8: 4}
"""The parameters of mallopt(3) and their values: M_MMAP_THRESHOLD, M_TRIM_THRESHOLD, M_ARENA_MAX."""


def keep_freed_memory() -> None:
    """Let the C library use freed memory again, instead of giving it back to the kernel at once.

    A question about a year makes and frees arrays of megabytes. By default each of them is new pages, which
    the kernel fills with zeros: a third of the whole time. Up to 64 MiB stay in each of four arenas. Where
    the environment says what malloc is to do, and in C libraries other than glibc, nothing changes."""
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt") and not any(name in os.environ for name in ALLOCATION_VARIABLES):
        for parameter, value in MALLOPT.items():
            library.mallopt(parameter, value)


class Refused(Exception):
    """The program cannot run as asked; the message is for the operator. Exit code 2."""


def configured(
    argv: Sequence[str], project: str = "blazar", arguments: Sequence[cfg.Opt] = ()
) -> cfg.ConfigOpts:
    """Load the configuration and set up logging. ``arguments`` are options that the command line may have."""
    conf = cfg.ConfigOpts()
    conf.register_cli_opts(arguments)
    options.register(conf)
    log.register_options(conf)
    conf.set_default("instance_uuid_format", "[lease %(uuid)s] ")  # service.log_context sets it
    conf(list(argv), project=project, version=VERSION)
    log.setup(conf, project)
    for handler in logging.getLogger().handlers:
        handler.addFilter(_EXTRA_KEYS)
    for each in former.removed(conf):
        LOG.warning("%s", each)
    return conf


class _ExtraKeys(logging.Filter):
    """Lists the extra fields of a log record, such as ``action``: oslo.log's JSON shows only listed ones."""

    KNOWN = frozenset({*logging.makeLogRecord({}).__dict__, "message", "asctime", "extra", "extra_keys"})

    def filter(self, record: logging.LogRecord) -> bool:
        if not hasattr(record, "extra_keys"):  # else another handler was here before
            record.extra_keys = sorted(record.__dict__.keys() - self.KNOWN)
        return True


_EXTRA_KEYS = _ExtraKeys()


def run(main: Callable[[], None]) -> None:
    """Run a program; a refusal or a configuration error is one clear sentence and exit code 2."""
    with one_sentence(sys.argv[0].rsplit("/", 1)[-1], exit_code=2):
        main()


@contextmanager
def one_sentence(name: str, exit_code: int) -> Iterator[None]:
    """End the process where the program ``name`` cannot start; the message is one sentence, without a
    traceback. Raises SystemExit."""
    try:
        yield
    except (Refused, cfg.Error, LookupError, ValueError) as refusal:
        print(f"{name}: {refusal}", file=sys.stderr, flush=True)
        raise SystemExit(exit_code) from None


def until_signalled() -> threading.Event:
    """Return an event that SIGTERM and SIGINT set."""
    stopped = threading.Event()

    def stop(signum: int, frame: FrameType | None) -> None:
        stopped.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, stop)
    return stopped


def bound(name: str, host: str, port: int) -> socket.socket:
    """Return a socket that is bound to the port. Raises Refused where another program has it."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        taken = socket.socket(family, kind, protocol)
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        taken.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # for all that is accepted
        taken.bind(address)
        taken.listen(BACKLOG)
    except OSError as failure:
        raise Refused(
            f"cannot listen on {host}:{port} for {name}: {failure.strerror or failure}"
        ) from failure
    return taken


def tell_version(argv: Sequence[str]) -> None:
    """Print the version and exit, where this is all that is asked for."""
    if list(argv) == ["--version"]:
        print(VERSION)
        raise SystemExit
