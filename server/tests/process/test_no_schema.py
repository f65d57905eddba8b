"""A program on a database without a schema: it says what to do, once, waits, and starts when it was done."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from free_ports import free_port

from .conftest import PATIENCE, PROGRAM, eventually
from .test_systemd import CONFIGURATION

SENTENCE = (
    "{name} cannot start yet: database is not available: it has no schema: run blazar-db-manage upgrade."
)


@pytest.mark.parametrize("name", ["blazar-manager", "blazar-webhooks"])
def test_a_program_without_a_schema_says_so_and_waits(name: str, tmp_path: Path) -> None:
    sentence = SENTENCE.format(name=name)
    conf, log = tmp_path / "blazar.conf", tmp_path / "log"
    conf.write_text(CONFIGURATION.format(port=free_port(), folder=tmp_path))
    words = ["--config-file", str(conf)]
    with log.open("w") as output:
        program = subprocess.Popen(
            [PROGRAM.with_name(name), *words],
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        eventually(lambda: sentence in log.read_text(), PATIENCE)
        time.sleep(2.5)
        assert log.read_text().count(sentence) == 1
        assert "Traceback" not in log.read_text()
        subprocess.run(
            [PROGRAM.with_name("blazar-db-manage"), *words, "upgrade"], check=True, timeout=PATIENCE
        )
        eventually(lambda: " has started" in log.read_text(), PATIENCE)
        program.send_signal(signal.SIGTERM)
        assert program.wait(PATIENCE) == 0
    finally:
        if program.poll() is None:
            os.killpg(program.pid, signal.SIGKILL)
            program.wait(PATIENCE)
