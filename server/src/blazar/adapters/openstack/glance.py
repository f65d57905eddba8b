"""Glance: images, as the Images port wants them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from blazar.adapters.openstack.session import ServiceApi
from blazar.service.ports import Image

PATH = "/v2/images"
"""The catalog tells where Glance is, not where its API's version is."""


class GlanceImages:
    """The Images port over Glance's HTTP API."""

    def __init__(self, api: ServiceApi) -> None:
        self._api = api

    def image(self, image_id: str) -> Image | None:
        found = self._api.find(f"{PATH}/{quote(image_id, safe='')}")
        return None if found is None else _image(found)

    def images_with(self, name: str, value: str) -> Sequence[Image]:
        found: list[Image] = []
        marker: dict[str, str] = {}
        while True:
            answer = self._api.get(PATH, None, **{name: value}, **marker)
            found += [_image(raw) for raw in answer["images"]]
            following = parse_qs(urlsplit(answer.get("next") or "").query).get("marker")
            if not following or not answer["images"]:
                return found
            marker = {"marker": following[0]}


def _image(raw: Mapping[str, Any]) -> Image:
    return Image(str(raw["id"]), str(raw.get("name") or ""), str(raw["status"]))
