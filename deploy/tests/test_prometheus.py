"""A real Prometheus with our rules, which reads a service that runs: do alerts and dashboard work with it?"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
import requests
import yaml
from free_ports import free_port
from process.conftest import Standalone, eventually

from .page import ROOT
from .site import HOST

FOLDER = ROOT / "deploy" / "prometheus"
PATIENCE = 1200
SECOND = "1s"


def program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.fail(f"{name} is missing: .ci/programs installs Debian's package prometheus", pytrace=False)
    return found


def promtool(*words: str, folder: Path = FOLDER) -> None:
    done = subprocess.run(
        [program("promtool"), *words],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def written_rules() -> list[Any]:
    found: list[Any] = yaml.safe_load((FOLDER / "blazar.rules.yaml").read_text())["groups"][0]["rules"]
    return found


def test_the_rules_are_good_and_fire() -> None:
    promtool("check", "rules", "blazar.rules.yaml")
    promtool("check", "config", "scrape.yaml")
    promtool("test", "rules", "blazar.rules.test.yaml")


def test_each_rule_is_tried() -> None:
    rules = written_rules()
    tests = yaml.safe_load((FOLDER / "blazar.rules.test.yaml").read_text())["tests"]
    fired = {one["alertname"] for each in tests for one in each["alert_rule_test"] if one["exp_alerts"]}
    quiet = {one["alertname"] for each in tests for one in each["alert_rule_test"] if not one["exp_alerts"]}
    assert fired == quiet == {rule["alert"] for rule in rules}


class Prometheus:
    """A Prometheus that reads one program in the place of each of ours, every second."""

    def __init__(self, folder: Path, port_of_service: int) -> None:
        self.url = f"http://{HOST}:{free_port()}"
        self._log = (folder / "prometheus.log").open("w")
        shutil.copy(FOLDER / "blazar.rules.yaml", folder)
        scrape = yaml.safe_load((FOLDER / "scrape.yaml").read_text())
        self.programs = len(scrape["scrape_configs"])
        for job in scrape["scrape_configs"]:
            job["static_configs"] = [{"targets": [f"{HOST}:{port_of_service}"]}]
        everywhere = {"scrape_interval": SECOND, "evaluation_interval": SECOND}
        conf = folder / "prometheus.yml"
        conf.write_text(yaml.safe_dump({"global": everywhere, **scrape}))
        words = [f"--config.file={conf}", f"--storage.tsdb.path={folder}/data"]
        words.append(f"--web.listen-address={self.url.removeprefix('http://')}")
        self._process = subprocess.Popen([program("prometheus"), *words], stdout=self._log, stderr=self._log)

    def close(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE)
        self._log.close()

    def ask(self, path: str, **parameters: str) -> Any:
        """Return the data of an answer; None while there is none."""
        try:
            answer = requests.get(f"{self.url}/api/v1/{path}", params=parameters, timeout=10)
        except requests.ConnectionError:
            return None
        if answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
            return None  # it listens, and is still starting
        assert answer.ok, f"{parameters}: {answer.text}"
        return answer.json()["data"]

    def found(self, expression: str) -> list[Any]:
        answer = self.ask("query", query=expression)
        return list(answer["result"]) if answer else []


@pytest.fixture(scope="module")
def prometheus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Prometheus]:
    folder = tmp_path_factory.mktemp("prometheus")
    with closing(Standalone(folder / "var")) as service:
        service.start()
        admin = service.user("admin")
        assert admin.call("GET", "/leases").status_code == 200
        with closing(Prometheus(folder, service.port)) as prometheus:
            eventually(lambda: len(prometheus.found("up == 1")) == prometheus.programs, PATIENCE)
            yield prometheus


def test_what_is_read_answers_the_dashboard(prometheus: Prometheus) -> None:
    eventually(lambda: prometheus.found("rate(blazar_requests_total[1m])"), PATIENCE)
    dashboard = json.loads((ROOT / "deploy" / "grafana" / "blazar.json").read_text())
    questions = [
        target["expr"].replace("$__rate_interval", "1m")
        for panel in dashboard["panels"]
        for target in panel.get("targets", ())
    ]
    for question in questions:
        prometheus.ask("query", query=question)
    answered = [question for question in questions if prometheus.found(question)]
    assert len(answered) > len(questions) / 2, sorted({*questions} - {*answered})
    assert prometheus.found("count(blazar_database_up)")[0]["value"][1] == str(prometheus.programs)


def test_a_service_that_works_raises_no_alarm(prometheus: Prometheus) -> None:
    def evaluated() -> list[Any]:
        groups = prometheus.ask("rules")["groups"]
        return [rule for group in groups for rule in group["rules"] if rule["health"] == "ok"]

    rules = eventually(
        lambda: (found := evaluated()) and len(found) == len(written_rules()) and found, PATIENCE
    )
    assert [rule["name"] for rule in rules if rule["alerts"]] == []
