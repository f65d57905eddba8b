"""The openstack command, imported once and run in a process of its own each time."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

PATIENCE = 120
"""Seconds that a command may take."""

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(
    ["openstackclient.shell", "openstack.connection", "openstackclient.compute.v2.server"]
)


def openstack(words: Sequence[str], env: Mapping[str, str], folder: Path) -> tuple[int, str, str]:
    """Run the command, and return its exit code, its output and its errors.

    It is that of the tests' environment, or the one that the variable OPENSTACK_COMMAND names."""
    if other := os.environ.get("OPENSTACK_COMMAND"):
        done = subprocess.run(
            [other, *words], env=env, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        return done.returncode, done.stdout, done.stderr
    process = _FORKS.Process(target=_main, args=(words, env, folder))
    process.start()
    process.join(PATIENCE)
    assert process.exitcode is not None, f"{words} took more than {PATIENCE} seconds"
    return process.exitcode, (folder / "stdout").read_text(), (folder / "stderr").read_text()


def _main(words: Sequence[str], env: Mapping[str, str], folder: Path) -> None:
    os.environ.clear()
    os.environ.update(env)
    for number, name in enumerate(("stdout", "stderr"), start=1):
        with (folder / name).open("wb") as file:
            os.dup2(file.fileno(), number)
    from openstackclient import shell

    sys.exit(shell.main(list(words)))
