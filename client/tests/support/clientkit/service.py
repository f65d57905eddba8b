"""The real service with its sandbox cloud, in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml
from free_ports import free_port

START_SECONDS = 300


@dataclass(frozen=True)
class Service:
    """A running service."""

    folder: Path
    auth_url: str

    def environment(self, cloud: str) -> dict[str, str]:
        """Return the variables with which every client finds the service, also without clouds.yaml."""
        clouds = yaml.safe_load((self.folder / "clouds.yaml").read_text())["clouds"]
        auth = clouds[cloud]["auth"]
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("OS_")},
            "OS_AUTH_TYPE": "password",
            "OS_AUTH_URL": auth["auth_url"],
            "OS_USERNAME": auth["username"],
            "OS_PASSWORD": auth["password"],
            "OS_PROJECT_NAME": auth["project_name"],
            "OS_USER_DOMAIN_ID": auth["user_domain_id"],
            "OS_PROJECT_DOMAIN_ID": auth["project_domain_id"],
            "OS_REGION_NAME": clouds[cloud]["region_name"],
            "OS_IDENTITY_API_VERSION": "3",
        }


@contextmanager
def running_service(folder: Path) -> Iterator[Service]:
    """Start the service on free ports with an empty folder, and stop it at the end."""
    port, cloud_port = free_port(), free_port()
    folder.mkdir(parents=True, exist_ok=True)
    command = [str(Path(sys.executable).parent / "blazar-standalone")]
    command += ["--port", str(port), "--cloud-port", str(cloud_port), "--var", str(folder)]
    with (folder / "output.log").open("w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        try:
            _wait_until_ready(process, folder / "output.log")
            yield Service(folder, f"http://127.0.0.1:{cloud_port}/v3")
        finally:
            process.terminate()
            process.wait(timeout=30)


def _wait_until_ready(process: subprocess.Popen[bytes], output: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        if "Blazar is ready" in output.read_text():
            return
        time.sleep(0.1)
    raise RuntimeError(f"the service did not start: {output.read_text()}")
