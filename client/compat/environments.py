"""Where do the other programs run? In virtual environments of their own below `var`, made once.

Each is made with what the package index has for it and, where it is not there to be compared with, this client, which is
installed anew whenever it changed.
"""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "client"
BASE = ROOT / "var" / "compat"
OLD_CLIENT = "python-blazarclient==4.6.0"


@dataclass(frozen=True)
class Environment:
    """A virtual environment of these `requirements`."""

    name: str
    requirements: tuple[str, ...]
    with_this_client: bool = False

    @property
    def folder(self) -> Path:
        return BASE / self.name

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    def ready(self) -> Environment:
        """Make it, or bring it up to date, unless it is there already. Fails when the package index fails."""
        with _alone(self.name):
            self._once(".made-of", "\n".join(self.requirements), self._make)
            if self.with_this_client:
                self._once(".this-client", _fingerprint(), self._renew_this_client)
        return self

    def _once(self, stamp: str, wanted: str, action: Callable[[], None]) -> None:
        """Act unless the stamp says that it was done for just this."""
        path = self.folder / stamp
        if not (path.is_file() and path.read_text() == wanted):
            action()
            path.write_text(wanted)

    def _make(self) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(self.folder)], check=True)
        self._install(*self.requirements)

    def _renew_this_client(self) -> None:
        self._install("--force-reinstall", "--no-deps", str(CLIENT))

    def _install(self, *what: str) -> None:
        pip = [str(self.bin / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *what], check=True)


OPENSTACK = "python-openstackclient==10.5.0"
OLD = Environment("client-4.6", (OLD_CLIENT, OPENSTACK))
NEW = Environment("client", (OPENSTACK, str(CLIENT)), with_this_client=True)
HEAT = Environment("heat", ("openstack-heat==27.0.1", str(CLIENT)), with_this_client=True)
HORIZON = Environment("horizon", ("blazar-dashboard==16.0.0", str(CLIENT)), with_this_client=True)


def old_library() -> Path:
    """A folder with nothing but the library of 4.6: put before an environment's own, it takes the place of ours."""
    folder = BASE / "library-4.6"
    with _alone(folder.name):
        if not folder.is_dir():
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder)]
            subprocess.run([*pip, OLD_CLIENT], check=True)
    return folder


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """Tests run in several processes, but only one of them at a time makes this environment."""
    BASE.mkdir(parents=True, exist_ok=True)
    with (BASE / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fingerprint() -> str:
    """Changes with every change of this client."""
    digest = hashlib.sha256()
    for path in sorted([CLIENT / "pyproject.toml", *(CLIENT / "src").rglob("*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()
