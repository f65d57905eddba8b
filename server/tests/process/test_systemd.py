"""Is systemd told that the programs run, as the unit of the operator's guide expects? Neither broker nor
cloud is there."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest
from free_ports import free_port

from .conftest import PATIENCE, PROGRAM

CONFIGURATION = """
[DEFAULT]
host = 127.0.0.1
port = {port}
transport_url = rabbit://guest:guest@127.0.0.1:9/
[manager]
metrics_port = {port}
[subscriptions]
metrics_port = {port}
[database]
connection = sqlite:///{folder}/blazar.db
[cloud]
auth_type = password
auth_url = http://127.0.0.1:9/v3
username = blazar
password = secret
project_name = service
user_domain_id = default
project_domain_id = default
"""


@pytest.mark.parametrize("name", ["blazar-api", "blazar-manager", "blazar-webhooks"])
def test_systemd_is_told(name: str, tmp_path: Path) -> None:
    port, conf = free_port(), tmp_path / "blazar.conf"
    conf.write_text(CONFIGURATION.format(port=port, folder=tmp_path))
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(PATIENCE)
        words = [str(PROGRAM.with_name(name)), "--config-file", str(conf)]
        env = {**os.environ, "NOTIFY_SOCKET": str(tmp_path / "notify")}
        with (tmp_path / "log").open("w") as log:
            process = subprocess.Popen(words, env=env, stdout=log, stderr=log, start_new_session=True)
        try:
            assert systemd.recv(100) == b"READY=1"
            socket.create_connection(("127.0.0.1", port), PATIENCE).close()
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(PATIENCE)
