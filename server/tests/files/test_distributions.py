"""Does each distribution declare what it imports, and nothing else? Is it newer than others of its name?"""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[3]
DISTRIBUTIONS = ("server", "client", "sandbox", "nova-filter")
NAMES = {
    "pydantic_core": "pydantic",
    "nova": "blazar-nova",
    "blazarnova": "blazar-nova",
    "blazar_sandbox": "blazar-sandbox",
}
"""Packages that are a part of another distribution, are there where the filter runs, or are ours."""
OF_THE_INDEX = {
    "blazar": Version("18.0.0"),
    "blazar-nova": Version("10.0.0"),
    "python-blazarclient": Version("4.6.0"),
}
"""The newest versions of other distributions that have our names on the package index."""
ONLY_INSTALLED = {"tzdata"}
"""What is needed without being imported."""


def imported(folder: Path) -> set[str]:
    """Return the names of all packages that the sources import, ours and Python's own left out."""
    return {
        name
        for path in folder.rglob("*.py")
        for name in _imports(ast.parse(path.read_text()))
        if name not in sys.stdlib_module_names and not (folder / name).is_dir()
    }


def _imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield str(node.module).partition(".")[0]


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(project: dict[str, object]) -> tuple[set[str], set[str]]:
    """Return the names of the distributions that are needed, and of those that an extra needs."""
    needed, extras = project["dependencies"], project.get("optional-dependencies", {})
    assert isinstance(needed, list)
    assert isinstance(extras, dict)
    optional = [each for extra in extras.values() for each in extra]
    return {_name(each) for each in needed}, {_name(each) for each in optional}


def _name(requirement: str) -> str:
    found = re.match(r"[\w.-]+", requirement)
    assert found
    return canonical(found.group())


def project_of(distribution: str) -> dict[str, Any]:
    project: dict[str, Any] = tomllib.loads((ROOT / distribution / "pyproject.toml").read_text())["project"]
    return project


def requirements(distribution: str) -> list[Requirement]:
    """Return what a distribution and its extras need."""
    project = project_of(distribution)
    extras = project.get("optional-dependencies", {}).values()
    return [
        Requirement(each)
        for each in [*project["dependencies"], *(need for extra in extras for need in extra)]
    ]


OURS = {project_of(each)["name"]: Version(project_of(each)["version"]) for each in DISTRIBUTIONS}


def test_the_index_has_no_newer_version_under_our_names() -> None:
    assert OF_THE_INDEX.keys() <= OURS.keys()
    assert [name for name, version in OF_THE_INDEX.items() if OURS[name] <= version] == []


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_each_requirement_has_a_lower_bound_that_leaves_out_what_is_not_ours(distribution: str) -> None:
    for need in requirements(distribution):
        assert {each.operator for each in need.specifier} == {">="}, need
        if need.name in OURS:
            assert OURS[need.name] in need.specifier
            assert OF_THE_INDEX.get(need.name, Version("0")) not in need.specifier


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_what_is_imported_is_declared(distribution: str) -> None:
    project = project_of(distribution)
    known = packages_distributions()
    used = {canonical(NAMES.get(name) or known[name][0]) for name in imported(ROOT / distribution / "src")}
    needed, optional = declared(project)
    assert used - needed - optional - {canonical(project["name"])} == set()
    assert needed - used - ONLY_INSTALLED == set()
