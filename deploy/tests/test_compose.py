"""The environment of the compose file, given to the programs of this checkout: do they work with it?"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from uuid import uuid4

import requests
import yaml
from free_ports import free_port
from keystoneauth1.identity import v3
from keystoneauth1.session import Session
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

from blazar_sandbox.cloud import Cloud
from blazar_sandbox.server import SandboxServer

from .page import ROOT
from .site import HOST

BIN = Path(sys.executable).parent
COMPOSE = ROOT / "deploy" / "compose"
_SETTING = re.compile(r"^(\w+)=(.*)$", re.MULTILINE)
_VARIABLE = re.compile(r"\$\{(\w+)(?::\?|:-([^}]*))\}")


def environment(cloud: int, api: int, manager: int, webhooks: int, folder: Path) -> dict[str, str]:
    """Return what the programs get from compose and ``sandbox.env``, with the servers of this machine."""
    values = dict(_SETTING.findall((COMPOSE / "sandbox.env").read_text()))
    text = _VARIABLE.sub(lambda found: values.get(found[1], found[2]), (COMPOSE / "compose.yaml").read_text())
    given = yaml.safe_load(text)["services"]["api"]["environment"]
    moved = {name: value.replace("//cloud:5000", f"//{HOST}:{cloud}") for name, value in given.items()}
    here = {
        "OS_DATABASE__CONNECTION": f"sqlite:///{folder}/blazar.db",
        "OS_DEFAULT__TRANSPORT_URL": os.environ.get(
            "BLAZAR_TEST_RABBITMQ", "rabbit://guest:guest@127.0.0.1:5672/"
        ),
        "OS_MANAGER__METRICS_PORT": str(manager),
        "OS_SUBSCRIPTIONS__METRICS_PORT": str(webhooks),
    }
    assert here.keys() <= moved.keys()
    own = {"OS_DEFAULT__PORT": str(api), "OS_MANAGER__RPC_TOPIC": f"compose_{uuid4().hex[:8]}"}
    return {"PATH": os.environ["PATH"], **moved, **here, **own}


def answers(url: str) -> int:
    """Return the status of an answer that is not 503, asked for again and again."""
    with requests.Session() as session:
        patience = Retry(total=600, backoff_factor=0.5, backoff_max=0.5, status_forcelist=[503])
        session.mount("http://", HTTPAdapter(max_retries=patience))
        return session.get(url, timeout=60).status_code


def test_the_programs_work_with_the_environment_of_compose(tmp_path: Path) -> None:
    cloud_port, api, manager, webhooks = (free_port() for _ in range(4))
    env = environment(cloud_port, api, manager, webhooks, tmp_path)
    cloud = Cloud(hosts=1, reservation_url=f"http://{HOST}:{api}/v1")
    with ExitStack() as stack:
        stack.enter_context(SandboxServer(cloud, host=HOST, port=cloud_port))
        subprocess.run([BIN / "blazar-db-manage", "upgrade"], env=env, cwd=tmp_path, check=True)
        for program in ("blazar-manager", "blazar-webhooks", "blazar-api"):
            log = stack.enter_context((tmp_path / f"{program}.log").open("w"))
            started = subprocess.Popen([BIN / program], env=env, cwd=tmp_path, stdout=log, stderr=log)
            stack.callback(started.wait, 60)
            stack.callback(started.send_signal, signal.SIGTERM)
        for port in (manager, webhooks, api):
            assert answers(f"http://{HOST}:{port}/healthcheck") == 200
            subprocess.run([sys.executable, ROOT / "deploy/healthy", str(port)], check=True)
        assert subprocess.run([sys.executable, ROOT / "deploy/healthy", str(free_port())]).returncode == 1
        auth = v3.Password(
            f"http://{HOST}:{cloud_port}/v3", username="admin", password="sandbox", project_name="admin",
            user_domain_id="default", project_domain_id="default",
        )  # fmt: skip
        made = Session(auth).post(f"http://{HOST}:{api}/v1/os-hosts", json={"name": "compute-01"})
        assert made.status_code == 201
