"""The programs of the version before, in an environment of their own that is built from git."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BEFORE = "bda7e93ecadcb637d143f08a04abc1de8352806f"
"""The newest commit before the words of RPC values and the rows of the engine were changed."""
PLACE = Path(os.environ.get("HA_VERSIONS", ROOT / "var" / "mixed"))


def programs_before() -> Path:
    """Return the folder of yesterday's programs. The first call installs them, which takes about a minute;
    they are kept in ``var/mixed``."""
    python = f"{sys.version_info.major}.{sys.version_info.minor}"
    place = PLACE / f"{BEFORE[:7]}-python{python}"
    installed = place / "installed"
    if not installed.exists():
        shutil.rmtree(place, ignore_errors=True)
        source = place / "source"
        source.mkdir(parents=True)
        with tarfile.open(fileobj=io.BytesIO(_archive())) as archive:
            archive.extractall(source, filter="data")
        subprocess.run([sys.executable, "-m", "venv", place / "venv"], check=True)
        pip = [place / "venv" / "bin" / "pip", "install", "-q", "--disable-pip-version-check"]
        wanted = [f"{source / 'server'}[mysql,postgresql]", "gunicorn"]
        subprocess.run([*pip, "-c", source / "constraints.txt", *wanted], check=True)
        installed.touch()
    return place / "venv" / "bin"


def _archive() -> bytes:
    found = subprocess.run(
        ["git", "archive", BEFORE, "server", "constraints.txt"], cwd=ROOT, capture_output=True, check=False
    )
    if found.returncode:
        why = found.stderr.decode(errors="replace").strip()
        pytest.fail(f"commit {BEFORE[:7]} is needed, so this takes a full clone (git: {why})", pytrace=False)
    return found.stdout
