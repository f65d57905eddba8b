"""Glance: images, as the Images port wants them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from keystoneauth1 import exceptions as ks_exceptions
from keystoneauth1.session import Session

from blazar.adapters.openstack.session import ServiceApi
from blazar.domain.errors import CloudUnavailable
from blazar.service.ports import SHELVED_SUFFIX, Image, ShelvedImage

PATH = "/v2/images"
"""The catalog tells where Glance is, not where its API's version is."""
MARK = "blazar_shelved"
"""The property of an image that Nova made when the service had a server shelved. Its value is the region:
several may share one Glance, and a server is looked for in its own only."""
ONLY_REGION = "only"
"""The value where the operator names no region."""
SERVER = "instance_uuid"
SNAPSHOTS = {"image_type": "snapshot"}
SHARED = "shared"
"""The visibility of images that may have members."""


class GlanceImages:
    """The Images port over Glance's HTTP API. ``session`` is the service's own."""

    def __init__(self, session: Session, api: ServiceApi, region: str | None = None) -> None:
        self._session = session
        self._api = api
        self._region = region or ONLY_REGION

    def image(self, image_id: str) -> Image | None:
        found = self._api.find(_path(image_id))
        return None if found is None else _image(found)

    def images_with(self, name: str, value: str, project_id: str | None = None) -> Sequence[Image]:
        found = [_image(raw) for raw in self._all({name: value})]
        if not found or project_id is None:
            return found
        owners = (project_id, self._ourselves()[0])
        return [image for image in found if image.project_id in owners]

    def hand_over(self, image_id: str, project_id: str) -> None:
        path = _path(image_id)
        raw = self._api.find(path)
        if raw is None or raw.get("owner") == project_id:
            return
        # Glance answers 403 where we are no administrator of its.
        if self._api.patch_image(path, [_replaced("owner", project_id)], (403, 404)) is not None:
            return
        if raw.get("visibility") != SHARED:
            self._api.patch_image(path, [_replaced("visibility", SHARED)])
        # It may have this member already: Nova adds the project of the server.
        self._api.post(f"{path}/members", {"member": project_id}, absent=(404, 409))

    def mark_shelved(self, server_id: str) -> None:
        wanted = {**self._made_by_us(), SERVER: server_id}
        for raw in self._all(wanted):
            if _is_of_shelving(raw, wanted) and raw.get(MARK) != self._region:
                self._api.patch_image(
                    _path(str(raw["id"])), [{"op": "add", "path": f"/{MARK}", "value": self._region}]
                )

    def marked_shelved(self) -> Iterator[ShelvedImage]:
        wanted = {**self._made_by_us(), MARK: self._region}
        for raw in self._all(wanted):
            if _is_of_shelving(raw, wanted) and raw.get(SERVER) and not raw.get("protected"):
                yield ShelvedImage(str(raw["id"]), str(raw[SERVER]))

    def delete_image(self, image_id: str) -> None:
        self._api.delete(_path(image_id))

    def _all(self, wanted: Mapping[str, str]) -> Iterator[Mapping[str, Any]]:
        """Yield the images. A page is asked for before those of the page before it are yielded, for it goes
        on from the last of these, which may be deleted then."""
        page, marker = self._page(wanted)
        while marker:
            following, next_marker = self._page({**wanted, "marker": marker})
            yield from page
            page, marker = following, next_marker
        yield from page

    def _page(self, wanted: Mapping[str, str]) -> tuple[Sequence[Mapping[str, Any]], str | None]:
        """Return some images, and after which one others follow; None where none do."""
        answer = self._api.get(PATH, None, **wanted)
        following = parse_qs(urlsplit(answer.get("next") or "").query).get("marker")
        return answer["images"], following[0] if following and answer["images"] else None

    def _made_by_us(self) -> Mapping[str, str]:
        """Return what Nova and Glance write of who had the image made: no user can, for the owner is the
        service's own project."""
        project, user = self._ourselves()
        return {**SNAPSHOTS, "owner": project, "user_id": user}

    def _ourselves(self) -> tuple[str, str]:
        """Return the project and the user of the service, by id."""
        try:
            with self._api.in_time():
                project, user = self._session.get_project_id(), self._session.get_user_id()
        except ks_exceptions.ClientException as failure:
            raise CloudUnavailable(service="Keystone", reason=str(failure)) from failure
        if not project or not user:
            raise CloudUnavailable(service="Keystone", reason="it does not tell who the service is")
        return str(project), str(user)


def _path(image_id: str) -> str:
    return f"{PATH}/{quote(image_id, safe='')}"


def _is_of_shelving(raw: Mapping[str, Any], wanted: Mapping[str, str]) -> bool:
    """Return whether Nova made it of a server that was shelved, and it is what was asked for, whichever
    filters Glance knows."""
    is_wanted = all(raw.get(name) == value for name, value in wanted.items())
    return is_wanted and str(raw.get("name") or "").endswith(SHELVED_SUFFIX)


def _image(raw: Mapping[str, Any]) -> Image:
    return Image(str(raw["id"]), str(raw.get("name") or ""), str(raw["status"]), raw.get("owner"))


def _replaced(name: str, value: str) -> Mapping[str, str]:
    return {"op": "replace", "path": f"/{name}", "value": value}
