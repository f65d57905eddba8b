"""The filter that nova-scheduler loads."""

import logging
import time

import nova.conf
from nova.scheduler import filters

from blazarnova import backfill, nova_objects, options
from blazarnova.reading import PromisesReader

LOG = logging.getLogger(__name__)

# nova-scheduler passes no configuration to a filter, so this is its global one.
CONF = nova.conf.CONF
options.register(CONF)


class BlazarFilter(filters.BaseHostFilter):  # type: ignore[misc]  # the base class is Nova's
    """Keep reserved hosts for the projects that reserved them."""

    # In a multi-create the filter runs once for all servers: placing one server does not change its
    # decision on the next.
    run_filter_once_per_request = True

    # A rebuild stays on its host, which the filter accepted when the server was created.
    RUN_ON_REBUILD = False

    def __init__(self) -> None:
        super().__init__()
        self._bounded_servers = nova_objects.BoundedServers()
        self._promises: PromisesReader | None = None
        self._is_set_up = False

    def host_passes(
        self, host_state: nova_objects.NovaHostState, spec_obj: nova_objects.NovaRequestSpec
    ) -> bool:
        """Return whether the server of ``spec_obj`` may run on ``host_state``."""
        reader, now = self._reader(), int(time.time())
        server = self._bounded_servers.of(spec_obj, now) if reader is not None else None
        verdict = backfill.decide_beside(
            nova_objects.request_spec_of(spec_obj),
            server,
            host_state.host,
            nova_objects.aggregates_of(host_state),
            options.settings_from(CONF),
            reader.current() if reader is not None and server is not None else None,
            now,
        )
        if not verdict.accepted:
            LOG.info(
                "Host %s rejected for project %s: %s (pool %s)",
                host_state.host,
                spec_obj.project_id,
                verdict.reason,
                verdict.pool,
            )
        return verdict.accepted

    def _reader(self) -> PromisesReader | None:
        """Return the reader of what is promised, which is at work from the first decision on; None where it
        is not wanted."""
        if not self._is_set_up:
            self._promises, self._is_set_up = options.reader_from(CONF), True
        if self._promises is not None:
            self._promises.ensure_running()
        return self._promises
