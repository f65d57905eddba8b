"""Runs commands of this environment, each in a fork of this process: as in one of its own, but with everything imported.

Standard input has one JSON list a line, the command's words and its environment; standard output one JSON list for each,
its exit code, what it wrote, and what it complained of.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

warnings.simplefilter("ignore")
PROGRAMS: dict[str, Callable[[list[str]], int]] = {
    name: next(iter(entry_points(group="console_scripts", name=name))).load() for name in ("openstack", "blazar")
}


def run(words: list[str], environment: dict[str, str]) -> tuple[int, str, str]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            sys.stdin = Path(os.devnull).open()  # noqa: SIM115 (for as long as the child lives)
            os.dup2(out.fileno(), 1)
            os.dup2(err.fileno(), 2)
            become(words, environment)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        out.seek(0)
        err.seek(0)
        return code, out.read().decode(), err.read().decode()


def become(words: list[str], environment: dict[str, str]) -> None:
    """Run the command in this process, and leave it."""
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
    os._exit(code)


if __name__ == "__main__":
    for line in sys.stdin:
        print(json.dumps(run(*json.loads(line))), flush=True)
