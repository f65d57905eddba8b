"""Browsers: pages of the operator's origins may call the API, others may not."""

from __future__ import annotations

from pathlib import Path

import pytest

from .canned import Canned
from .conftest import Send, configured, edge

ORIGIN = "https://dashboard.example.org"
PREFLIGHT = {
    "Origin": ORIGIN,
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "X-Auth-Token,Content-Type",
}


@pytest.fixture
def send_from_page(service: Canned, tmp_path: Path) -> Send:
    return edge(service, configured(tmp_path, f"[cors]\nallowed_origin = {ORIGIN}\n"))


def test_without_the_option_no_page_may_call(send: Send) -> None:
    answer = send("GET", "/v1/leases", headers={"Origin": ORIGIN})
    assert "access-control-allow-origin" not in answer.headers


def test_a_preflight_needs_no_token(send_from_page: Send) -> None:
    answer = send_from_page("OPTIONS", "/v1/leases", None, headers=PREFLIGHT)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == ORIGIN


def test_an_allowed_page_reads_the_answer(send_from_page: Send) -> None:
    answer = send_from_page("GET", "/v1/leases", headers={"Origin": ORIGIN})
    assert answer.headers["access-control-allow-origin"] == ORIGIN
    assert "X-OpenStack-Request-ID" in answer.headers["access-control-expose-headers"]


def test_another_page_does_not(send_from_page: Send) -> None:
    answer = send_from_page("GET", "/v1/leases", headers={"Origin": "https://elsewhere.example.org"})
    assert "access-control-allow-origin" not in answer.headers
