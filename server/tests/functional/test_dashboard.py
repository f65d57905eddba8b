"""The calendar page over HTTP: its files, their headers, and what it is told of the cloud."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from oslo_config import cfg

from blazar.api.dashboard import Dashboard, SandboxUsers, with_dashboard
from blazar.bootstrap.api import build_dashboard

from .canned import Canned
from .conftest import Send, configured, edge, sender

KEYSTONE = "https://keystone.example.org:5000/v3"


def nothing(environ, start_response):
    start_response("418 I'm a teapot", [("Content-Type", "text/plain")])
    return []


def page(dashboard: Dashboard) -> Send:
    return sender(with_dashboard(nothing, dashboard))


@pytest.fixture
def send() -> Send:
    return page(Dashboard(KEYSTONE))


def policy(send: Send) -> dict[str, str]:
    text = send("GET", "/dashboard/", None).headers["content-security-policy"]
    return dict(each.split(" ", 1) for each in text.split("; "))


def test_the_page_needs_no_token(send: Send) -> None:
    answer = send("GET", "/dashboard/", None)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert answer.text.startswith("<!doctype html>")


def test_only_its_own_scripts_run_and_only_the_api_and_keystone_are_called(send: Send) -> None:
    found = policy(send)
    assert found["default-src"] == found["frame-ancestors"] == found["base-uri"] == "'none'"
    assert found["script-src"] == found["style-src"] == "'self'"
    assert (found["require-trusted-types-for"], found["trusted-types"]) == ("'script'", "'none'")
    assert found["connect-src"] == "'self' https://keystone.example.org:5000"


@pytest.mark.parametrize("url", ["", "javascript:alert(1)//", "ftp://elsewhere.example.org/v3"])
def test_an_address_that_is_none_of_http_is_not_used(url: str) -> None:
    send = page(Dashboard(url))
    assert policy(send)["connect-src"] == "'self'"
    assert send("GET", "/dashboard/configuration.json", None).json["keystone_url"] == ""


def test_every_answer_forbids_guesses_of_its_type(send: Send) -> None:
    for name in ("", "style.css", "configuration.json"):
        answer = send("GET", f"/dashboard/{name}", None)
        assert (answer.status_code, answer.headers["x-content-type-options"]) == (200, "nosniff"), name


def test_a_file_that_is_known_is_not_sent_again(send: Send) -> None:
    first = send("GET", "/dashboard/style.css", None)
    again = send("GET", "/dashboard/style.css", None, headers={"If-None-Match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    assert first.headers["cache-control"] == again.headers["cache-control"] == "no-cache"
    other = send("GET", "/dashboard/style.css", None, headers={"If-None-Match": '"other"'})
    assert other.status_code == 200


def test_head_has_the_length_and_no_body(send: Send) -> None:
    answer = send("HEAD", "/dashboard/", None)
    assert (answer.status_code, answer.content) == (200, b"")
    assert int(answer.headers["content-length"]) > 100


def test_without_the_slash_it_is_a_relative_redirect(send: Send) -> None:
    answer = send("GET", "/dashboard", None)
    assert (answer.status_code, answer.headers["location"]) == (308, "dashboard/")


@pytest.mark.parametrize(
    "path", ["nothing.js", "../__init__.py", "__init__.py", "..%2f__init__.py", "/etc/passwd", "js/", "js"]
)
def test_there_are_no_other_files(send: Send, path: str) -> None:
    assert send("GET", f"/dashboard/{path}", None).status_code == 404


def test_it_takes_nothing(send: Send) -> None:
    assert send("POST", "/dashboard/", None).status_code == 405


@pytest.mark.parametrize("path", ["/dashboards", "/v1/leases", "/"])
def test_other_paths_are_left_to_the_api(send: Send, path: str) -> None:
    assert send("GET", path, None).status_code == 418


def test_all_addresses_in_the_files_are_relative() -> None:
    folder = Path(__file__).parents[2] / "src/blazar/api/dashboard/static"
    files = [path for path in folder.rglob("*") if path.suffix in (".js", ".html", ".css")]
    assert len(files) > 2
    absolute = re.compile(r"""(?:src|href|import|from|fetch\()\s*=?\s*["'](?:/|https?:)""")
    for path in files:
        assert not absolute.findall(path.read_text()), path


def test_the_page_knows_the_users_of_a_sandbox_only() -> None:
    told = page(Dashboard(KEYSTONE))("GET", "/dashboard/configuration.json", None).json
    assert told == {"keystone_url": KEYSTONE, "sandbox": None}
    sandbox = SandboxUsers(("demo",), "secret")
    told = page(Dashboard(KEYSTONE, sandbox))("GET", "/dashboard/configuration.json", None).json
    assert told["sandbox"] == {"names": ["demo"], "password": "secret"}


def test_the_edge_serves_it_beside_the_api(tmp_path: Path) -> None:
    send = edge(Canned(), configured(tmp_path), dashboard=Dashboard(KEYSTONE))
    assert send("GET", "/dashboard/configuration.json", None).status_code == 200
    assert send("GET", "/v1/leases", None).status_code == 401


@pytest.mark.parametrize(
    ("options", "url"),
    [
        ("", ""),
        ("[keystone_authtoken]\nwww_authenticate_uri = http://one:5000\n", "http://one:5000/v3"),
        ("[keystone_authtoken]\nwww_authenticate_uri = http://one/identity/v3/\n", "http://one/identity/v3"),
        (
            "[dashboard]\nkeystone_url = https://two/v3\n[keystone_authtoken]\nwww_authenticate_uri = http://one\n",
            "https://two/v3",
        ),
    ],
)
def test_keystone_is_where_the_operator_says(tmp_path: Path, options: str, url: str) -> None:
    assert _built(configured(tmp_path, options)) == Dashboard(url)


def test_an_operator_may_do_without_it(tmp_path: Path) -> None:
    assert _built(configured(tmp_path, "[dashboard]\nenabled = false\n")) is None


def _built(conf: cfg.ConfigOpts) -> Dashboard | None:
    from blazar.api.authentication import keystone

    keystone(conf)
    return build_dashboard(conf)
