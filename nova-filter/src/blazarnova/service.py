"""The promises over HTTP, from the reservation service that Keystone's catalog names."""

from keystoneauth1 import adapter, loading
from oslo_config import cfg

from blazarnova.reading import Reply

SERVICE_TYPE = "reservation"
VERSION = {"OpenStack-API-Version": f"{SERVICE_TYPE} 1.30"}
TIMEOUT = 10
"""Seconds that an answer is waited for."""
NOT_MODIFIED = 304


class ReservationService:
    """A source of promises, which is asked with the credentials in a group of the options.

    These are read with the first request: a mistake in them is an error of the request, of no decision."""

    def __init__(self, conf: cfg.ConfigOpts, group: str) -> None:
        self._conf = conf
        self._group = group
        self._api: adapter.Adapter | None = None

    def read(self, known: str) -> Reply:
        """Ask the service, unless the answer with the tag ``known`` is still true."""
        api = self._api = self._api or _api_of(self._conf, self._group)
        headers = {**VERSION, "If-None-Match": known} if known else VERSION
        answer = api.get("/promises", headers=headers, timeout=TIMEOUT)
        if answer.status_code == NOT_MODIFIED:
            return Reply(known)
        return Reply(answer.headers.get("ETag", ""), answer.json())


def register(conf: cfg.ConfigOpts, group: str) -> None:
    """Register the options of keystoneauth in the group."""
    loading.register_session_conf_options(conf, group)
    loading.register_auth_conf_options(conf, group)
    loading.register_adapter_conf_options(conf, group)


def _api_of(conf: cfg.ConfigOpts, group: str) -> adapter.Adapter:
    auth = loading.load_auth_from_conf_options(conf, group)
    session = loading.load_session_from_conf_options(conf, group, auth=auth)
    api = loading.load_adapter_from_conf_options(conf, group, session=session, auth=auth)
    api.service_type = api.service_type or SERVICE_TYPE
    return api
