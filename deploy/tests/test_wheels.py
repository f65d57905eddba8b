"""The wheels of all distributions: what is in them, and what their programs do without extras."""

from __future__ import annotations

import os
import subprocess
import sys
from email.message import Message
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest
from made_once import Shared

from .page import ROOT

PACKAGES = {
    "server": "blazar",
    "client": "blazarclient",
    "nova-filter": "blazarnova",
    "sandbox": "blazar_sandbox",
}
"""The package of each distribution, by its folder."""
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet")
PROGRAMS = (
    "blazar-api",
    "blazar-manager",
    "blazar-webhooks",
    "blazar-db-manage",
    "blazar-status",
    "blazar-standalone",
    "blazar",
)


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Shared:
    return Shared(tmp_path_factory, pytestconfig)


@pytest.fixture(scope="session")
def wheels(shared: Shared) -> dict[str, Path]:
    """The wheel of each distribution, by its folder."""

    def build(folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        sources = [ROOT / each for each in PACKAGES]
        subprocess.run([*PIP, "wheel", "--no-deps", "-w", folder, *sources], check=True)

    found = {
        each: name
        for name in shared.made("wheels", build).iterdir()
        for each in PACKAGES
        if f"{PACKAGES[each]}/__init__.py" in files(name)
    }
    assert found.keys() == PACKAGES.keys()
    return found


@pytest.fixture(scope="session")
def environment(wheels: dict[str, Path], shared: Shared) -> Path:
    """The programs of an environment that has server and client, and no extra."""

    def install(folder: Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        pip = [
            *PIP,
            "--python",
            folder / "bin/python",
            "install",
            "--no-compile",
            "-c",
            ROOT / "constraints.txt",
        ]
        subprocess.run([*pip, wheels["server"], wheels["client"]], check=True)

    return shared.made("environment", install) / "bin"


def files(wheel: Path) -> set[str]:
    with ZipFile(wheel) as opened:
        return set(opened.namelist())


def metadata(wheel: Path) -> Message:
    with ZipFile(wheel) as opened:
        (name,) = (each for each in opened.namelist() if each.endswith(".dist-info/METADATA"))
        return Parser().parsestr(opened.read(name).decode())


@pytest.mark.parametrize("folder", PACKAGES)
def test_a_wheel_has_every_file_of_its_package(folder: str, wheels: dict[str, Path]) -> None:
    listed = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "."]
    source = ROOT / folder / "src"
    tracked = subprocess.check_output(listed, cwd=source, text=True).splitlines()
    packed = {name for name in files(wheels[folder]) if ".dist-info/" not in name}
    assert packed == {name for name in tracked if (source / name).is_file()}
    assert f"{PACKAGES[folder]}/py.typed" in packed


@pytest.mark.parametrize("folder", PACKAGES)
def test_a_wheel_tells_what_it_is(folder: str, wheels: dict[str, Path]) -> None:
    told = metadata(wheels[folder])
    assert told["License-Expression"] == "Apache-2.0"
    assert told["Requires-Python"] == ">=3.11"
    assert told["Summary"]
    assert told["Keywords"]
    assert told.get_all("Project-URL")
    assert told.get_payload().startswith(f"# {told['Name']}")
    assert {"Environment :: OpenStack", "Typing :: Typed"} < set(told.get_all("Classifier", ()))
    with ZipFile(wheels[folder]) as opened:
        (licence,) = (name for name in opened.namelist() if name.endswith(".dist-info/licenses/LICENSE"))
        assert opened.read(licence) == (ROOT / "LICENSE").read_bytes()


def run(environment: Path, program: str, *words: object, folder: Path = Path("/")) -> tuple[int, str]:
    """Run a program of the environment; return its exit code and all that it prints."""
    env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}
    done = subprocess.run(
        [environment / program, *map(str, words)], env=env, cwd=folder, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, timeout=1800, check=False,
    )  # fmt: skip
    assert "Traceback" not in done.stdout
    return done.returncode, done.stdout


@pytest.mark.by_turns(2)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_runs_without_extras(program: str, environment: Path, wheels: dict[str, Path]) -> None:
    version = metadata(wheels["client" if program == "blazar" else "server"])["Version"]
    code, printed = run(environment, program, "--version")
    assert (code, printed.split()[-1]) == (0, version)
    code, printed = run(environment, program, "--help")
    assert code == 0
    assert printed.startswith("usage: ")


@pytest.mark.parametrize(
    "url", ["postgresql://blazar:secret@127.0.0.1/blazar", "mysql://blazar:secret@127.0.0.1/blazar"]
)
@pytest.mark.parametrize(
    ("program", "words"),
    [("blazar-manager", ()), ("blazar-db-manage", ("upgrade",)), ("blazar-status", ("upgrade", "check"))],
)
def test_a_missing_driver_is_one_sentence(
    program: str, words: tuple[str, ...], url: str, environment: Path, tmp_path: Path
) -> None:
    conf = tmp_path / "blazar.conf"
    conf.write_text(f"[database]\nconnection = {url}\n")
    code, printed = run(environment, program, "--config-file", conf, *words)
    assert code == 2
    assert f"blazar[{url.partition(':')[0]}]" in "".join(printed.replace("|", " ").split())
    assert "secret" not in printed


def test_the_missing_sandbox_is_one_sentence(environment: Path, tmp_path: Path) -> None:
    code, printed = run(environment, "blazar-standalone", folder=tmp_path)
    said = "blazar-standalone: the sandbox cloud is not installed. The extra blazar[standalone] has it.\n"
    assert (code, printed) == (2, said)
    assert not list(tmp_path.iterdir())
