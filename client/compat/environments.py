"""The virtual environments of the other programs, below `var`.

Each has programs of the package index. An environment for a comparison also has this client, which is
installed again whenever it changes.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from effort import EFFORT
from made_once import alone

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "client"
BASE = ROOT / "var" / "compat"
OLD_CLIENT = "python-blazarclient==4.6.0"
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check")


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
        """Create or update the environment if necessary. Fails if the package index is not available."""
        with alone(_lock(self.name)):
            self._once(".made-of", "\n".join(self.requirements), self._make)
            if self.with_this_client:
                self._once(".this-client", _fingerprint(), self._renew_this_client)
        return self

    def _once(self, stamp: str, wanted: str, action: Callable[[], None]) -> None:
        """Run the action unless the stamp contains `wanted`."""
        path = self.folder / stamp
        if not (path.is_file() and path.read_text() == wanted):
            action()
            path.write_text(wanted)

    def _make(self) -> None:
        venv = [sys.executable, "-m", "venv", "--clear", "--without-pip", str(self.folder)]
        subprocess.run(venv, check=True)
        self._install(*self.requirements)

    def _renew_this_client(self) -> None:
        self._install("--force-reinstall", "--no-deps", str(CLIENT))

    def _install(self, *what: str) -> None:
        # Most modules are never imported, so they are compiled when they are.
        pip = [*PIP, "--python", str(self.bin / "python"), "install", "--quiet", "--no-compile"]
        subprocess.run([*pip, *what], check=True)


OPENSTACK = "python-openstackclient==10.5.0"
OLD = Environment("client-4.6", (OLD_CLIENT, OPENSTACK))
NEW = Environment("client", (OPENSTACK, str(CLIENT)), with_this_client=True)
HEAT = Environment("heat", ("openstack-heat==27.0.1", str(CLIENT)), with_this_client=True)
HORIZON = Environment("horizon", ("blazar-dashboard==16.0.0", str(CLIENT)), with_this_client=True)
CHI = Environment("chi", ("python-chi==1.2.10", str(CLIENT)), with_this_client=True)
LIBCLOUD = Environment("libcloud", ("apache-libcloud==3.9.1",))
UPSTREAM = {
    release: Environment(f"upstream-{release}", (f"blazar=={release}.0.0", "PyMySQL")) for release in (17, 18)
}
LONG = (CHI, LIBCLOUD, *UPSTREAM.values())
"""Only what is marked ``thorough`` needs these."""
ENVIRONMENTS = (OLD, NEW, HORIZON, HEAT, CHI, LIBCLOUD, *UPSTREAM.values())


def build_all() -> None:
    """Begin to build all environments at once: most of the time of each is waiting for the package index.

    A failure is left to the test that needs the environment: it tries again, and fails with the reason."""
    for environment in ENVIRONMENTS if EFFORT == "thorough" else {*ENVIRONMENTS} - {*LONG}:
        threading.Thread(target=_build, args=[environment], name=environment.name).start()


def _build(environment: Environment) -> None:
    with suppress(subprocess.CalledProcessError):
        environment.ready()


def old_library() -> Path:
    """Return a folder with the library of 4.6 alone. On PYTHONPATH it takes precedence over this client."""
    folder = BASE / "library-4.6"
    with alone(_lock(folder.name)):
        if not folder.is_dir():
            pip = [*PIP, "install", "--quiet", "--no-deps", "--target", str(folder)]
            subprocess.run([*pip, OLD_CLIENT], check=True)
    return folder


def _lock(name: str) -> Path:
    BASE.mkdir(parents=True, exist_ok=True)
    return BASE / f"{name}.lock"


def _fingerprint() -> str:
    """Return a hash of the source of this client."""
    digest = hashlib.sha256()
    for path in sorted([CLIENT / "pyproject.toml", *(CLIENT / "src").rglob("*.py")]):
        digest.update(path.read_bytes())
    return digest.hexdigest()
