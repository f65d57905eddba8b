"""A program that runs the commands of its environment, each in a fork with all modules imported.

A command tells which modules it has imported, and this process imports them for the next ones: it takes a
command a third of a second to import what it needs.

Each line of standard input is a JSON list: the words of a command and its environment. Each line of standard
output is a JSON list: its exit code, standard output and standard error.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path
from typing import IO

warnings.simplefilter("ignore")
PROGRAMS: dict[str, Callable[[list[str]], int]] = {
    name: next(iter(entry_points(group="console_scripts", name=name))).load()
    for name in ("openstack", "blazar")
}


def run(words: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as new:
        child = os.fork()
        if child == 0:
            sys.stdin = Path(os.devnull).open()  # noqa: SIM115 (for as long as the child lives)
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            become(words, environment, new)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        new.seek(0)
        learn(new.read().decode().split())
        return code, out.read().decode(), err.read().decode()


def learn(modules: list[str]) -> None:
    """Import modules that a command has imported, as far as they can be imported by their names."""
    for name in modules:
        with contextlib.suppress(Exception):  # the command itself tells of a module that cannot be imported
            importlib.import_module(name)


def become(words: list[str], environment: dict[str, str], new: IO[bytes]) -> None:
    """Run the command in this process, write the names of the modules that it has imported, and exit."""
    known = set(sys.modules)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = words
    code = 1
    try:
        code = PROGRAMS[words[0]](words[1:]) or 0
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
    except BaseException:  # noqa: BLE001 (as the interpreter itself does at the end of a program)
        sys.excepthook(*sys.exc_info())
    sys.stdout.flush()
    sys.stderr.flush()
    new.write("\n".join(sys.modules.keys() - known).encode())
    new.flush()
    os._exit(code)


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(run(*json.loads(line))), flush=True)
