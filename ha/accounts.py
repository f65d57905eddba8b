"""Accounts at the broker, made as an operator makes them: by the commands of the pages."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import amqp
import pytest
from sqlalchemy import URL, make_url

from .site import RABBITMQ, require_rabbitmq

PAGES = Path(__file__).parents[1] / "docs/operator"
INSTALLATION, HARDENING = (
    re.findall(r"^ *(rabbitmqctl .*)$", (PAGES / name).read_text(), re.MULTILINE)
    for name in ("install.md", "hardening.md")
)
"""The commands of the pages on the installation and on hardening, in their order."""
OURS, READER, NOVA = "blazar", "reader", "nova"
"""What the pages call the service's user and virtual host, the receiver's user and Nova's virtual host."""
PASSWORD = "only-for-a-test"


class Accounts:
    """Virtual hosts and users of this test alone, whose names begin with its own name.

    Nova is played by the user of ``BLAZAR_TEST_RABBITMQ``, who may do all in Nova's virtual host."""

    def __init__(self) -> None:
        require_rabbitmqctl()
        self._prefix = f"blazar_ha_{uuid4().hex[:10]}_"
        self._server = make_url(RABBITMQ)

    def name(self, on_the_page: str) -> str:
        return self._prefix + on_the_page

    def make(self) -> None:
        """Do what the installation says, and make the accounts that the page on hardening takes as given."""
        own = {"BROKER_VHOST": self.name(OURS), "BROKER_USER": self.name(OURS), "BROKER_PASSWORD": PASSWORD}
        for command in INSTALLATION:
            _run(["bash", "-c", command], os.environ | own)
        _run(["rabbitmqctl", "add_vhost", self.name(NOVA)])
        _run(["rabbitmqctl", "add_user", self.name(READER), PASSWORD])
        everything = [".*"] * 3
        server = ["--vhost", self.name(NOVA), str(self._server.username)]
        _run(["rabbitmqctl", "set_permissions", *server, *everything])

    def do(self, command: str) -> None:
        """Run a command of the page on hardening for the users and virtual hosts of this test."""
        program, verb, option, virtual_host, user, *permissions = shlex.split(command)
        _run([program, verb, option, self.name(virtual_host), self.name(user), *permissions])

    def remove(self) -> None:
        """Remove what ``make`` has made, also where it did not come to its end."""
        words = [["delete_vhost", self.name(each)] for each in (OURS, NOVA)]
        words += [["delete_user", self.name(each)] for each in (OURS, READER)]
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda each: subprocess.run(["rabbitmqctl", *each], capture_output=True), words))

    def url(self, user: str, virtual_host: str) -> URL:
        """Return the address at which a user, as the pages call it, reaches a virtual host."""
        server = self._server.set(database=self.name(virtual_host))
        return server if user == NOVA else server.set(username=self.name(user), password=PASSWORD)

    def connect(self, user: str, virtual_host: str) -> amqp.Connection:
        url = self.url(user, virtual_host)
        place = f"{url.host}:{url.port or 5672}"
        return amqp.Connection(
            place, userid=url.username, password=url.password, virtual_host=url.database, confirm_publish=True
        )


def require_rabbitmqctl() -> None:
    """Fail where the program or the broker is missing, and tell what to do."""
    require_rabbitmq()
    if shutil.which("rabbitmqctl") is None:
        how = "as root, on the broker's machine: on Debian, apt install rabbitmq-server"
        pytest.fail(f"There is no program rabbitmqctl. These tests need it, {how}.", pytrace=False)


def _run(words: list[str], env: dict[str, str] | None = None) -> None:
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert not done.returncode, f"{words}: {done.stdout}{done.stderr}"
