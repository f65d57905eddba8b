"""Discovery: every caller may ask which versions there are, wherever the API is mounted."""

from __future__ import annotations

from pathlib import Path

import pytest

from blazar.api.microversion import MAXIMUM, text

from .canned import Canned
from .conftest import Send, configured, edge

V1 = {
    "id": "v1.0",
    "status": "CURRENT",
    "links": [{"href": "http://blazar:1234/v1", "rel": "self"}],
    "min_version": "1.0",
    "max_version": text(MAXIMUM),
}


@pytest.mark.parametrize("path", ["/", "/versions", "/versions.json"])
def test_the_choice_of_versions_needs_no_token(send: Send, path: str) -> None:
    answer = send("GET", path, None, host="blazar", port=1234)
    assert answer.status_code == 300
    assert answer.json == {"versions": [V1]}
    assert answer.headers["content-type"] == "application/json"


@pytest.mark.parametrize("path", ["/v1", "/v1/", "/v1.json"])
def test_one_version_needs_no_token(send: Send, path: str) -> None:
    answer = send("GET", path, None, host="blazar", port=1234)
    assert (answer.status_code, answer.json) == (200, {"version": V1})


def test_links_contain_the_prefix_that_the_api_is_mounted_at(send: Send) -> None:
    answer = send("GET", "/", None, host="cloud", root_path="/reservation", protocol="https")
    assert answer.json["versions"][0]["links"][0]["href"] == "https://cloud/reservation/v1"


def test_routes_are_found_below_a_mount_prefix(send: Send) -> None:
    assert send("GET", "/v1/leases", root_path="/reservation").status_code == 200


@pytest.mark.parametrize(("parsing", "href"), [(True, "https://outside/v1"), (False, "http://inside/v1")])
def test_the_proxys_headers_are_believed_only_if_the_operator_says_so(
    service: Canned, tmp_path: Path, parsing: bool, href: str
) -> None:
    option = f"[oslo_middleware]\nenable_proxy_headers_parsing = {parsing}\n"
    send = edge(service, configured(tmp_path, option))
    forwarded = {"X-Forwarded-Proto": "https", "X-Forwarded-Host": "outside"}
    answer = send("GET", "/", None, host="inside", headers=forwarded)
    assert answer.json["versions"][0]["links"][0]["href"] == href


def test_json_suffix_names_the_same_routes(send: Send) -> None:
    assert send("GET", "/v1/leases.json").json == send("GET", "/v1/leases").json
    one = "/v1/leases/051ec3b5-33a7-49a3-90fa-ebbb92c7439c"
    assert send("GET", f"{one}.json").json == send("GET", one).json
    assert send("GET", "/v1/os-hosts.json", "admin").json == send("GET", "/v1/os-hosts", "admin").json


@pytest.mark.parametrize(
    "path", ["/v1/leases/", "/v1/os-hosts/", "/v1/os-hosts//allocation", "/v2/leases", "/v1/plugins"]
)
def test_unknown_paths_are_404_with_a_sentence(send: Send, path: str) -> None:
    answer = send("GET", path, "admin")
    assert answer.status_code == 404
    assert answer.json == {"error": 404, "error_message": "The requested URL was not found on the server."}


def test_wrong_methods_are_405_with_a_sentence(send: Send) -> None:
    answer = send("PATCH", "/v1/leases", body="{}")
    assert answer.status_code == 405
    assert answer.json == {"error": 405, "error_message": "The method is not allowed for the requested URL."}
    assert set(answer.headers["allow"].split(", ")) == {"GET", "POST", "OPTIONS"}


def test_head_is_get_without_the_body(send: Send) -> None:
    head, get = send("HEAD", "/v1/leases"), send("GET", "/v1/leases")
    assert (head.status_code, head.text) == (200, "")
    assert head.headers["content-length"] == get.headers["content-length"]
    assert send("HEAD", "/v1/leases/x").status_code == 404


def test_options_is_answered(send: Send) -> None:
    answer = send("OPTIONS", "/v1/leases")
    assert (answer.status_code, answer.text) == (200, "")
