"""Signing in: with one click into a sandbox, with a password, a token or an application credential."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
from playwright.sync_api import Page, expect

from .conftest import SIZES, Enter, Site

KEPT = "() => [localStorage.length, sessionStorage.length, document.cookie]"


def test_one_click_is_enough_in_a_sandbox(enter: Enter) -> None:
    page = enter("demo")
    expect(page.get_by_text("demo, project demo")).to_be_visible()


@pytest.mark.parametrize("size", SIZES)
def test_with_a_password(page: Page, site: Site, troubles: list[str], size: dict[str, Any]) -> None:
    page.set_viewport_size(size)
    page.goto(site.url)
    page.get_by_label("User", exact=True).fill("alt")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("Keystone refuses")
    page.get_by_label("Password").fill("sandbox")
    page.get_by_label("Password").press("Enter")
    expect(page.get_by_text("alt, project alt")).to_be_visible()


def test_with_a_token(page: Page, site: Site, troubles: list[str]) -> None:
    page.goto(site.url)
    page.get_by_label("With").select_option("Token")
    page.get_by_label("Token", exact=True).fill(str(site.user("demo").headers["X-Auth-Token"]))
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_text("demo, project demo")).to_be_visible()


def test_with_an_application_credential(page: Page, site: Site, troubles: list[str]) -> None:
    keystone = f"http://127.0.0.1:{site.service.cloud_port}/v3"
    token = {"X-Auth-Token": str(site.user("demo").headers["X-Auth-Token"])}
    told = requests.get(
        f"{keystone}/auth/tokens", headers={**token, "X-Subject-Token": token["X-Auth-Token"]}
    )
    made = requests.post(
        f"{keystone}/users/{told.json()['token']['user']['id']}/application_credentials",
        headers=token,
        json={"application_credential": {"name": "page", "secret": "of the page"}},
    )
    assert made.status_code == 201, made.text
    page.goto(site.url)
    page.get_by_label("With").select_option("Application credential")
    page.get_by_label("ID of the credential").fill(made.json()["application_credential"]["id"])
    page.get_by_label("Secret").fill("of the page")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.get_by_text("demo, project demo")).to_be_visible()


def test_tokens_are_nowhere_but_in_memory(page: Page, site: Site, enter: Enter) -> None:
    tokens: set[str] = set()
    addresses: list[str] = []

    def seen(request) -> None:
        addresses.append(request.url)
        tokens.update(filter(None, [request.headers.get("x-auth-token")]))

    page.on("request", seen)
    enter("demo")
    page.get_by_role("button", name="Later").click()
    assert tokens
    assert not [each for each in addresses if any(token in each for token in tokens)]
    assert page.evaluate(KEPT) == [0, 0, ""]
    own = {f"127.0.0.1:{site.service.port}", f"127.0.0.1:{site.service.cloud_port}"}
    assert {urlsplit(each).netloc for each in addresses} == own
    page.reload()
    expect(page.get_by_role("button", name="Sign in as demo")).to_be_visible()


def test_signing_out_ends_the_token(page: Page, site: Site, enter: Enter) -> None:
    tokens: list[str] = []
    page.on("request", lambda request: tokens.append(request.headers.get("x-auth-token", "")))
    enter("demo")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("button", name="Sign in as demo")).to_be_visible()
    again = requests.get(f"{site.service.url}/v1/leases", headers={"X-Auth-Token": tokens[-1]})
    keystone = f"http://127.0.0.1:{site.service.cloud_port}/v3/auth/projects"
    assert requests.get(keystone, headers={"X-Auth-Token": tokens[-1]}).status_code == 401
    assert again.status_code in (200, 401)  # the API remembers valid tokens for a minute


def test_a_user_of_several_projects_changes_between_them(enter: Enter, site: Site) -> None:
    cloud = f"http://127.0.0.1:{site.service.cloud_port}/v3"
    admin = {"X-Auth-Token": str(site.user("admin").headers["X-Auth-Token"])}

    def the(kind: str, name: str) -> str:
        found = requests.get(f"{cloud}/{kind}?name={name}", headers=admin).json()[kind]
        return str(found[0]["id"])

    project, user, role = the("projects", "demo"), the("users", "alt"), the("roles", "member")
    given = requests.put(f"{cloud}/projects/{project}/users/{user}/roles/{role}", headers=admin)
    assert given.status_code == 204
    try:
        page = enter("alt")
        expect(page.get_by_role("row", name="climate")).to_be_visible()
        page.get_by_label("Project").select_option("demo")
        expect(page.get_by_role("row", name="training")).to_be_visible()
        expect(page.get_by_role("row", name="climate")).to_have_count(0)
    finally:
        requests.delete(f"{cloud}/projects/{project}/users/{user}/roles/{role}", headers=admin)
