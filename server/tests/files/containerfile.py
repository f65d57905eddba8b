"""The instructions of ``deploy/Containerfile``."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"


class Containerfile:
    """The instructions of a Containerfile, by stage."""

    KNOWN = frozenset(
        {
            "ARG",
            "FROM",
            "WORKDIR",
            "COPY",
            "RUN",
            "ENV",
            "STOPSIGNAL",
            "USER",
            "EXPOSE",
            "HEALTHCHECK",
            "ENTRYPOINT",
            "CMD",
        }
    )

    def __init__(self, text: str) -> None:
        self.stages: dict[str, list[tuple[str, str]]] = {}
        self.bases: dict[str, str] = {}
        current: list[tuple[str, str]] = []
        lines = re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE))
        for line in filter(None, lines.splitlines()):
            word, _, rest = line.partition(" ")
            assert word in self.KNOWN, line
            if word == "FROM":
                base, name = re.fullmatch(r"(\S+) AS (\S+)", rest).groups()  # type: ignore[union-attr]
                self.bases[name] = base
                current = self.stages[name] = []
            current.append((word, rest))

    def all_of(self, stage: str) -> list[tuple[str, str]]:
        """Return the instructions of a stage, after those of the stages that it begins with."""
        base = self.bases[stage]
        return (self.all_of(base) if base in self.stages else []) + self.stages[stage]

    def last(self, stage: str, word: str) -> str:
        return [rest for each, rest in self.all_of(stage) if each == word][-1]

    def words(self, stage: str) -> list[str]:
        """Return the command line of an image."""
        return [*json.loads(self.last(stage, "ENTRYPOINT")), *json.loads(self.last(stage, "CMD"))]


IMAGES = Containerfile((DEPLOY / "Containerfile").read_text())
TARGETS = {name: f"blazar-{name}" for name in ("api", "manager", "webhooks", "db-manage", "sandbox")}
