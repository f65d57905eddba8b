"""Is a session in the documentation what really happens? Its commands are run again, one after the other."""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass

from .normal import complaints, normal
from .runner import run_program

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# Whether the lease was still on its way at the first look depends on the machine.
_ON_ITS_WAY = re.compile(r"^Lease \S+ is [A-Z]+, waiting for")
_DURATION = re.compile(r"\b\d+[dhms]( \d+[dhms])?\b(?= from now)")


@dataclass(frozen=True)
class Step:
    """A command, and what it is said to print."""

    command: str
    output: str


def steps_of(text: str) -> list[Step]:
    """The commands in all console blocks: a line behind ``$``, with those that a backslash at the end adds to it."""
    steps = []
    for block in _BLOCK.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = re.sub(r"\\\n", "\0", part).partition("\n")
            steps.append(Step(command.replace("\0", "\\\n"), output))
    return steps


class Screen(io.StringIO):
    """What was printed where line characters can be shown."""

    encoding = "utf-8"


class Shell:
    """As much of a shell as the documents need: ``export``, ``$NAME``, ``echo $?``, ``$(...)`` and our two programs."""

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        self._environment = environment
        self._code = 0

    def run(self, command: str) -> str:
        """What the command prints, on standard output and standard error, as both come to a terminal."""
        plain = re.sub(r"\$\((.*?)\)", lambda inner: self.run(inner[1]).strip(), command.replace("\\\n", ""))
        match shlex.split(re.sub(r"\$([A-Z]\w*)", lambda name: self._environment[name[1]], plain)):
            case ["export", *settings]:
                self._environment.update(setting.split("=", 1) for setting in settings)
                return ""
            case ["echo", "$?"]:
                return f"{self._code}\n"
            case words:
                screen = Screen()
                self._code = run_program(words, screen, screen)
                return screen.getvalue()


def same(text: str) -> list[str]:
    """The lines of an output that must be the same at every run."""
    lines = complaints(_DURATION.sub("9h", normal(text)))
    return [line.rstrip() for line in lines if not _ON_ITS_WAY.match(line)]


def renewed(text: str, outputs: Sequence[str]) -> str:
    """The document with these outputs in the place of those it has."""
    rest = iter(zip(steps_of(text), outputs, strict=True))

    def block(found: re.Match[str]) -> str:
        said = [f"$ {step.command}\n{output}" for step, output in (next(rest) for _ in steps_of(found[0]))]
        return "```console\n" + "\n".join(said) + "```"

    return _BLOCK.sub(block, text)
