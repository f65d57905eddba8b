"""The execution of the sessions in the documentation."""

from __future__ import annotations

import io
import re
import shlex
import time
from collections.abc import MutableMapping, Sequence
from dataclasses import dataclass

from .output import normalize, relevant_lines
from .runner import run_program

_BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# Whether the lease was still on its way at the first look depends on the machine.
_ON_ITS_WAY = re.compile(r"^Lease \S+ is [A-Z]+, waiting for")
_PORT = re.compile(r"(?<=127\.0\.0\.1):\d+")
_DURATION = re.compile(r"\b\d+[dhms]( \d+[dhms])?\b(?= from now)")


@dataclass(frozen=True)
class Step:
    """A command and its documented output."""

    command: str
    output: str


def steps_of(text: str) -> list[Step]:
    """Return the commands of all console blocks: lines after ``$``, with their continuation lines."""
    steps = []
    for block in _BLOCK.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = re.sub(r"\\\n", "\0", part).partition("\n")
            steps.append(Step(command.replace("\0", "\\\n"), output))
    return steps


class Screen(io.StringIO):
    """A stream with UTF-8 encoding."""

    encoding = "utf-8"


class Shell:
    """The parts of a shell that the documents need.

    These are ``export``, ``$NAME``, ``echo $?``, ``sleep``, ``$(...)`` and the two programs.
    """

    def __init__(self, environment: MutableMapping[str, str]) -> None:
        self._environment = environment
        self._code = 0

    def run(self, command: str) -> str:
        """Return the command's standard output and standard error, as a terminal shows both."""
        plain = re.sub(r"\$\((.*?)\)", lambda inner: self.run(inner[1]).strip(), command.replace("\\\n", ""))
        match shlex.split(re.sub(r"\$([A-Z]\w*)", lambda name: self._environment[name[1]], plain)):
            case ["export", *settings]:
                self._environment.update(setting.split("=", 1) for setting in settings)
                return ""
            case ["sleep", seconds]:
                time.sleep(float(seconds))
                return ""
            case ["echo", "$?"]:
                return f"{self._code}\n"
            case words:
                screen = Screen()
                self._code = run_program(words, screen, screen)
                return screen.getvalue()


def same(text: str) -> list[str]:
    """Return the lines of an output that do not vary between runs."""
    lines = relevant_lines(_PORT.sub("", _DURATION.sub("9h", normalize(text))))
    return [line.rstrip() for line in lines if not _ON_ITS_WAY.match(line)]


def renewed(text: str, outputs: Sequence[str]) -> str:
    """Return the document with these outputs instead of its own."""
    rest = iter(zip(steps_of(text), outputs, strict=True))

    def block(found: re.Match[str]) -> str:
        said = [f"$ {step.command}\n{output}" for step, output in (next(rest) for _ in steps_of(found[0]))]
        return "```console\n" + "\n".join(said) + "```"

    return _BLOCK.sub(block, text)
