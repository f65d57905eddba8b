"""Tests of the sessions and examples in the client's documentation.

With ``BLAZAR_RENEW_TRANSCRIPTS=1`` they write the outputs into the documents instead. Review them before you
commit them.
"""

from __future__ import annotations

import doctest
import os
import re
from collections.abc import Iterator, MutableMapping
from pathlib import Path

import pytest
from clientkit.runner import handlers_restored
from clientkit.service import Service, running_service
from clientkit.transcripts import Shell, renewed, same, steps_of

DOCUMENTS = Path(__file__).parents[2] / "docs" / "client"
_FILE = re.compile(r"^```yaml\n# (\S+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture
def fresh_environment() -> Iterator[MutableMapping[str, str]]:
    """The environment of a new shell; the test's exports are removed at the end."""
    before = dict(os.environ)
    for name in before:
        if name.startswith(("OS_", "BLAZAR_TIME")):
            del os.environ[name]
    os.environ["COLUMNS"] = "100"
    yield os.environ
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.by_turns(3)
@pytest.mark.parametrize(
    "name",
    [
        "guide.md",
        "../user/promise.md",
        "../user/feeds.md",
        "../user/mail.md",
        "../user/series.md",
        "../user/sharing.md",
        "../user/kinds/server.md",
        "../user/kinds/network.md",
        "../user/kinds/port.md",
        "../user/kinds/volume.md",
    ],
)
def test_the_sessions_of_a_document_are_what_happens(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fresh_environment: MutableMapping[str, str]
) -> None:
    document = DOCUMENTS / name
    text = document.read_text()
    for path, content in _FILE.findall(text):
        (tmp_path / path).write_text(content)
    steps = steps_of(text)
    assert steps
    renew = "BLAZAR_RENEW_TRANSCRIPTS" in os.environ
    monkeypatch.chdir(tmp_path)
    with running_service(tmp_path / "var"), handlers_restored():
        shell = Shell(fresh_environment)
        outputs = [shell.run(step.command) for step in steps]
    if renew:
        document.write_text(renewed(text, outputs))
        return
    for step, output in zip(steps, outputs, strict=True):
        assert same(output) == same(step.output), step.command


def test_the_examples_of_the_library_reference_work(
    service: Service, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("OS_AUTH_TYPE", "OS_AUTH_URL", "OS_CLOUD", "BLAZAR_TIME_ZONE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OS_CLIENT_CONFIG_FILE", str(service.folder / "clouds.yaml"))
    document = DOCUMENTS / "library.md"
    text = document.read_text().replace("```", "\n```")  # a fence must not look like output
    examples = doctest.DocTestParser().get_doctest(text, {}, document.name, str(document), 0)
    messages: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(
        examples, out=messages.append
    )
    assert result.attempted > 20
    assert result.failed == 0, "".join(messages)
