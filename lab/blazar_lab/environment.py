"""The lab's Python environments, installed from requirements and constraints."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from blazar_lab.console import LabError, step
from blazar_lab.settings import Settings

UNCOUNTED = frozenset({"__pycache__", "build", "tests"})


@dataclass(frozen=True)
class Environment:
    """A virtual environment: pinned packages, then distributions of this repository."""

    path: Path
    constraints: Path
    requirements: Path | None = None
    sources: tuple[Path, ...] = ()
    extras: str = ""


def lab_environment(settings: Settings) -> Environment:
    lab = settings.repository / "lab"
    return Environment(
        path=settings.venv,
        requirements=lab / "requirements.txt",
        constraints=lab / "constraints.txt",
        sources=(lab / "parts", settings.repository / "nova-filter"),
    )


def clients_environment(settings: Settings) -> Environment:
    lab = settings.repository / "lab"
    return Environment(
        path=settings.venv_clients,
        requirements=lab / "requirements-clients.txt",
        constraints=lab / "constraints.txt",
    )


def ensure(environment: Environment, log: Path) -> bool:
    """Install what is missing or has changed; tell whether packages of this repository changed."""
    for path in (environment.constraints, *(source / "pyproject.toml" for source in environment.sources)):
        if not path.exists():
            raise LabError(f"{path} is missing; the lab installs from this checkout.")
    if not (environment.path / "bin" / "python").exists():
        run([sys.executable, "-m", "venv", str(environment.path)], log)
    _ensure_pinned(environment, log)
    return _ensure_sources(environment, log)


def _ensure_pinned(environment: Environment, log: Path) -> None:
    if environment.requirements is None:
        return
    wanted = fingerprint(environment.requirements, environment.constraints)
    stamp = environment.path / "pinned.stamp"
    if _read(stamp) == wanted:
        return
    with step(f"installed {environment.path.name}"):
        _pip(environment, log, "-r", str(environment.requirements), "-c", str(environment.constraints))
    stamp.write_text(wanted)


def _ensure_sources(environment: Environment, log: Path) -> bool:
    if not environment.sources:
        return False
    wanted = fingerprint(*environment.sources, environment.constraints)
    stamp = environment.path / "sources.stamp"
    if _read(stamp) == wanted:
        return False
    targets = [f"{source}{environment.extras}" for source in environment.sources]
    with step(f"installed {', '.join(s.name for s in environment.sources)} into {environment.path.name}"):
        _pip(environment, log, *targets, "-c", str(environment.constraints))
    stamp.write_text(wanted)
    return True


def _pip(environment: Environment, log: Path, *arguments: str) -> None:
    pip = [str(environment.path / "bin" / "python"), "-m", "pip", "--no-input", "install", "-q"]
    # Most modules are never imported, so they are compiled when they are.
    run([*pip, "--no-compile", *arguments], log)


def fingerprint(*paths: Path) -> str:
    """Return a hash over files and folders, except byte code and build folders."""
    digest = hashlib.sha256()
    for path in paths:
        files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if _counts(file, path))
        for file in files:
            digest.update(str(file.relative_to(path)).encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _counts(file: Path, folder: Path) -> bool:
    parts = file.relative_to(folder).parts
    return file.is_file() and not any(p in UNCOUNTED or p.endswith(".egg-info") for p in parts)


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def run(command: list[str], log: Path, environment: dict[str, str] | None = None) -> None:
    """Run a program and write its output to ``log``; raise an error with its last line if it fails."""
    with log.open("ab") as output:
        output.write(f"$ {' '.join(command)}\n".encode())
        output.flush()
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT, env=environment
        )
    if done.returncode:
        lines = log.read_text(errors="replace").strip().splitlines()
        raise LabError(f"{Path(command[0]).name} failed: {lines[-1]} (see {log})")
