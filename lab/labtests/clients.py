"""What do the official command line clients print, and how do they fail?"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

SECONDS = 120


class CommandFailed(Exception):
    """A command ended with an error; the text is what it said."""


class Clients:
    """`openstack` with the reservation plugin of python-blazarclient, from an environment of their own."""

    def __init__(self, venv: Path, clouds_yaml: Path) -> None:
        self._program = venv / "bin" / "openstack"
        self._environment = {**os.environ, "OS_CLIENT_CONFIG_FILE": str(clouds_yaml)}

    def run(self, cloud: str, *words: str) -> str:
        """Run `openstack --os-cloud CLOUD WORDS...`; its standard output."""
        done = subprocess.run(
            [str(self._program), "--os-cloud", cloud, *words],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            env=self._environment,
        )
        if done.returncode:
            raise CommandFailed(f"{' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
        return done.stdout

    def json(self, cloud: str, *words: str) -> Any:
        """The same, as the data that `-f json` gives."""
        printed = self.run(cloud, *words, "-f", "json")
        # some commands print a sentence before the data
        begin = min((i for i in (printed.find("{"), printed.find("[")) if i >= 0), default=0)
        return json.loads(printed[begin:])
