"""The images, as far as they can be made without a container builder: what their instructions do to Python.

Each stage's commands are run in an environment of Python's own, on a copy of what the build may see. The
user, the layers and the base image are not tried."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, replace
from fnmatch import fnmatch
from pathlib import Path

import pytest
from files.containerfile import DEPLOY, IMAGES, TARGETS
from free_ports import free_port
from process.conftest import eventually

from .page import ROOT
from .site import HOST

PATIENCE = 600
"""Seconds for one instruction; the package index may be slow."""
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
FILES = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, text=True).split()


def may_be_seen(name: str) -> bool:
    """Return what ``Containerfile.dockerignore`` says of a file: the last of its rules that fits counts."""
    seen = True
    for rule in (DEPLOY / "Containerfile.dockerignore").read_text().split():
        pattern = rule.removeprefix("!")
        parts = name.split("/")
        folders = ["/".join(parts[: n + 1]) for n in range(len(parts))]
        anywhere = pattern.removeprefix("**/")
        fits = any(fnmatch(each, pattern) for each in folders) or (
            anywhere != pattern and any(fnmatch(part, anywhere) for part in parts)
        )
        seen = rule.startswith("!") if fits else seen
    return seen


@dataclass(frozen=True)
class Image:
    """An environment in place of an image, and the command line that it begins with."""

    bin: Path
    words: list[str]

    def run(self, *words: str) -> tuple[int, str]:
        """Run a command as the container does: with no other program's folder in PATH, and no variables."""
        done = subprocess.run(
            [self.bin / words[0], *words[1:]], env=self.environment, cwd="/", text=True, timeout=PATIENCE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout

    @property
    def environment(self) -> dict[str, str]:
        return {"PATH": f"{self.bin}:/usr/bin:/bin", "HOME": "/nonexistent", "PYTHONUNBUFFERED": "1"}


class Build:
    """Runs the instructions of the Containerfile. Fails at one that it does not know."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.context = folder / "context"
        for name in filter(may_be_seen, FILES):
            copy = self.context / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy)
        self.wheels = folder / "wheels"
        self._wheels()

    def _wheels(self) -> None:
        source = self.folder / "src"
        source.mkdir()
        for word, rest in IMAGES.stages["wheels"]:
            if word == "COPY":
                self._copy(rest, source)
            elif word == "RUN":
                (wanted,) = re.fullmatch(r"pip wheel (.*)", rest).groups()  # type: ignore[union-attr]
                words = wanted.replace('"', "").replace("/wheels", str(self.wheels)).split()
                subprocess.run([*PIP, "wheel", *words], cwd=source, check=True, timeout=PATIENCE)
            else:
                assert word in ("FROM", "WORKDIR")

    def _copy(self, rest: str, target: Path) -> Path:
        mode, name, to = re.fullmatch(r"(?:--chmod=(\d+) )?(\S+) (\S+)", rest).groups()  # type: ignore[union-attr]
        place = target / (name if to == "./" else Path(to).name)
        source = self.context / name
        made = shutil.copytree(source, place) if source.is_dir() else shutil.copy(source, place)
        if mode:
            Path(made).chmod(int(mode, 8))
        return place

    def image(self, target: str) -> Image:
        """Return the environment in which the commands of this target and of those before it were run."""
        environment = self.folder / target
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
        for word, rest in IMAGES.all_of(target):
            if word == "COPY":
                self._copy(rest, environment / "bin")
            elif word == "RUN" and "pip" in rest:
                (wanted,) = re.search(r"pip install (.*)$", rest).groups()  # type: ignore[union-attr]
                words = wanted.replace('"', "").replace("/wheels", str(self.wheels)).split()
                pip = [*PIP, "--python", environment / "bin/python", "install", "--no-compile", *words]
                subprocess.run(pip, check=True, timeout=PATIENCE)
        return Image(environment / "bin", IMAGES.words(target))


def test_the_build_sees_sources_only() -> None:
    seen = {name for name in FILES if may_be_seen(name)}
    assert {"constraints.txt", "deploy/healthy", "server/pyproject.toml"} < seen
    assert {name.split("/")[0] for name in seen} == {
        "constraints.txt",
        "deploy",
        "server",
        "nova-filter",
        "sandbox",
    }
    assert not [name for name in seen if "/tests/" in name]
    for secret in (
        "deploy/kubernetes/blazar.conf",
        "blazar.conf",
        "deploy/compose/cloud.env",
        "var/blazar.db",
    ):
        assert not may_be_seen(secret)


@pytest.mark.thorough
def test_the_images_have_their_programs_drivers_and_checks(tmp_path: Path) -> None:
    """One test, for the build takes half a minute. The images of the service differ in the program that they
    begin with."""
    build = Build(tmp_path)
    service, sandbox = build.image("manager"), build.image("sandbox")
    for target in TARGETS:
        has_its_program(replace(sandbox if target == "sandbox" else service, words=IMAGES.words(target)))
    for url in ("postgresql", "mysql"):
        has_the_driver(replace(service, words=IMAGES.words("db-manage")), url, tmp_path)
    is_asked_for_its_health(sandbox, service)


def has_its_program(image: Image) -> None:
    code, printed = image.run(image.words[0], "--version")
    assert code == 0, printed
    assert re.fullmatch(r"(\S+ )?\d+\.\d+\.\d+\n", printed)


def has_the_driver(image: Image, url: str, folder: Path) -> None:
    """The port is free. That is told only where there is a driver."""
    conf = folder / "blazar.conf"
    conf.write_text(f"[database]\nconnection = {url}://blazar:secret@127.0.0.1:{free_port()}/blazar\n")
    words = [str(conf) if word.startswith("/etc/") else word for word in image.words]
    code, printed = image.run(*words)
    assert code
    assert printed.endswith("database is not available: nothing listens at its address\n"), printed


def is_asked_for_its_health(sandbox: Image, service: Image) -> None:
    """The sandbox is asked by its own words; that of the service finds that the sandbox has no health."""
    port = str(free_port())
    check = json.loads(IMAGES.last("sandbox", "HEALTHCHECK").partition("CMD ")[2])
    here = [word.replace("5000", port) for word in check]
    words = [word.replace("5000", port).replace("0.0.0.0", HOST) for word in sandbox.words]
    assert sandbox.run(*here)[0] != 0
    started = subprocess.Popen([sandbox.bin / words[0], *words[1:]], env=sandbox.environment, cwd="/")
    try:
        eventually(lambda: sandbox.run(*here)[0] == 0, PATIENCE)
        assert os.access(service.bin / "healthy", os.X_OK)
        code, printed = service.run("healthy", port)
        assert code == 1
        assert "Traceback" not in printed
    finally:
        started.terminate()
        started.wait(30)
