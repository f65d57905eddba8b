"""The command line of the lab."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from blazar_lab import commands
from blazar_lab.console import LabError
from blazar_lab.settings import Settings

COMMANDS: dict[str, tuple[Callable[[Settings], int], str]] = {
    "up": (commands.up, "install what is missing and start what is not running"),
    "down": (commands.down, "stop what the lab started; everything is kept on disk"),
    "status": (commands.status, "tell per service: process, port, health"),
    "reset": (commands.reset, "forget all leases and remove what reservations left in the cloud"),
    "wipe": (commands.wipe, "stop, and delete all data; the installed environments are kept"),
    "blazar-up": (commands.blazar_up, "install and start the reservation service only"),
    "blazar-down": (commands.blazar_down, "stop the reservation service only"),
}


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="lab.py", description="A real OpenStack on one machine.")
    verbs = top.add_subparsers(dest="command", required=True)
    for name, (_, text) in COMMANDS.items():
        verb = verbs.add_parser(name, help=text, description=text)
        if name == "up":
            verb.add_argument(
                "--without-blazar", action="store_true", help="start the cloud, not the reservation service"
            )
    return top


def main(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    action = COMMANDS[options.command][0]
    if getattr(options, "without_blazar", False):
        action = commands.up_cloud
    try:
        return action(Settings.load())
    except LabError as error:
        print(f"lab: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("lab: interrupted; run the same command again to go on", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
