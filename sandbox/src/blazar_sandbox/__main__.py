"""The command ``blazar-sandbox``."""

import argparse
import signal
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from threading import Event
from types import FrameType

from blazar_sandbox.cloud import DEFAULT_RESERVATION_URL, Cloud
from blazar_sandbox.compute.servers import Delays
from blazar_sandbox.server import SandboxServer


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="blazar-sandbox", description="A small OpenStack in memory, over HTTP."
    )
    parser.add_argument("--version", action="version", version=metadata.version("blazar-sandbox"))
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s)")
    parser.add_argument("--port", type=int, default=5000, help="0 takes any free one (default: %(default)s)")
    parser.add_argument("--hosts", type=int, default=8, help="number of compute hosts (default: %(default)s)")
    parser.add_argument(
        "--region",
        action="append",
        default=[],
        help="another region beside RegionOne, with as many hosts of its own; may be given several times",
    )
    parser.add_argument("--traits", type=int, default=20, help="traits of each host (default: %(default)s)")
    parser.add_argument("--password", default="sandbox", help="of every user (default: %(default)s)")
    parser.add_argument(
        "--reservation-url",
        default=DEFAULT_RESERVATION_URL,
        help="the catalog's reservation endpoint (%(default)s)",
    )
    parser.add_argument(
        "--boot-delay", type=float, default=Delays().boot, help="seconds until a server is ACTIVE"
    )
    parser.add_argument(
        "--delete-delay", type=float, default=Delays().delete, help="seconds until it is gone"
    )
    parser.add_argument(
        "--state", type=Path, help="file in which the cloud survives a restart (default: none)"
    )
    parser.add_argument("--threads", type=int, default=16, help="worker threads (default: %(default)s)")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Serve until SIGINT or SIGTERM."""
    options = _parser().parse_args(argv)
    cloud = Cloud(
        hosts=options.hosts,
        traits=options.traits,
        password=options.password,
        reservation_url=options.reservation_url,
        delays=Delays(boot=options.boot_delay, delete=options.delete_delay),
    )
    for name in options.region:
        cloud.add_region(name, options.hosts)
    server = SandboxServer(
        cloud, host=options.host, port=options.port, threads=options.threads, state_path=options.state
    )
    try:
        server.start()
    except OSError as error:
        print(
            f"blazar-sandbox: cannot listen on {options.host}:{options.port}: {error.strerror}",
            file=sys.stderr,
        )
        return 2
    stopped = Event()

    def stop(_signal: int, _frame: FrameType | None) -> None:
        stopped.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    print(f"blazar-sandbox: {options.hosts} hosts, identity at {server.auth_url}", flush=True)
    stopped.wait()
    server.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
