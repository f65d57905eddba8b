"""The blocks of a page that an operator follows: what is typed or written, and where."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "operator" / "install.md"
SETTINGS = "site.sh"
NOT_RUN = "not run by our tests"
UNITS = "with systemd: our tests start the command lines of the units instead"
_BLOCK = re.compile(
    r"^```\{code-block\} \w+\n:caption: (?P<place>[^\n]+)\n\n(?P<text>.*?)^```$", re.DOTALL | re.MULTILINE
)
_FENCE = re.compile(r"^```\S", re.MULTILINE)
_ENABLED = re.compile(r"^systemctl enable --now (.+)$", re.MULTILINE)
_SETTING = re.compile(r"^(\w+)=(\S+)", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """What is typed, and where: the block's caption."""

    place: str
    text: str


def blocks(text: str) -> list[Block]:
    """Return all blocks in their order. Fails where one has no caption, for it would never be run."""
    found = [Block(**each.groupdict()) for each in _BLOCK.finditer(text)]
    assert len(found) == len(_FENCE.findall(text)), "each block needs a caption that says where it is typed"
    return found


def settings(block: Block) -> dict[str, str]:
    """Return what ``site.sh`` sets."""
    return dict(_SETTING.findall(block.text))


def enabled_command_lines(block: Block, units: Path) -> dict[str, str]:
    """Return the command line of each systemd unit that the block enables, by the unit's name."""
    return {
        name: line
        for names in _ENABLED.findall(block.text)
        for name in names.split()
        for line in re.findall(r"^ExecStart=(.*)$", (units / f"{name}.service").read_text(), re.MULTILINE)
    }
