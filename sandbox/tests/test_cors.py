"""Tests of browsers: pages of the origins that the server is given may call the cloud, others may not."""

from collections.abc import Iterator

import pytest
import requests

from blazar_sandbox.cloud import Cloud
from blazar_sandbox.server import SandboxServer

PAGE = "http://127.0.0.1:1234"
OTHER = "http://elsewhere.example.org"
ALLOWED = "Access-Control-Allow-Origin"


@pytest.fixture
def url() -> Iterator[str]:
    with SandboxServer(Cloud(hosts=0), origins=[PAGE]) as server:
        yield server.auth_url


def test_a_page_may_ask_before_it_calls(url: str) -> None:
    asked = {"Origin": PAGE, "Access-Control-Request-Method": "POST"}
    answer = requests.options(f"{url}/auth/tokens", headers=asked, timeout=10)
    assert (answer.status_code, answer.headers[ALLOWED]) == (200, PAGE)
    assert "X-Subject-Token" in answer.headers["Access-Control-Allow-Headers"]


def test_it_reads_the_token(url: str) -> None:
    answer = requests.get(url, headers={"Origin": PAGE}, timeout=10)
    assert (answer.status_code, answer.headers[ALLOWED], answer.headers["Vary"]) == (200, PAGE, "Origin")
    assert "X-Subject-Token" in answer.headers["Access-Control-Expose-Headers"]


@pytest.mark.parametrize("origin", [OTHER, "null", f"{PAGE}.example.org", ""])
def test_others_may_not(url: str, origin: str) -> None:
    for method in ("GET", "OPTIONS"):
        answer = requests.request(method, url, headers={"Origin": origin}, timeout=10)
        assert ALLOWED not in answer.headers


def test_without_origins_no_page_may(server: SandboxServer) -> None:
    answer = requests.get(server.auth_url, headers={"Origin": PAGE}, timeout=10)
    assert ALLOWED not in answer.headers
