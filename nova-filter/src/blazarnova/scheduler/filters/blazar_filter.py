"""How does nova-scheduler ask the reservation rule about a host?"""

import logging

import nova.conf
from nova.scheduler import filters

from blazarnova import nova_objects, options, rule

LOG = logging.getLogger(__name__)

# A filter gets no configuration handed in: nova-scheduler's own is the only one there is.
CONF = nova.conf.CONF
options.register(CONF)


class BlazarFilter(filters.BaseHostFilter):  # type: ignore[misc]  # the base class is Nova's
    """Keep reserved hosts for the projects that reserved them."""

    # Every host is asked, but once per request and not again for each further server of a multi-create:
    # the answer depends on nothing that placing the first server changes.
    run_filter_once_per_request = True

    # A rebuild stays on its host, and the host was right when the server came.
    RUN_ON_REBUILD = False

    def host_passes(self, host_state: nova_objects.NovaHostState, spec_obj: nova_objects.NovaRequestSpec) -> bool:
        """Tell whether the server of ``spec_obj`` may run on ``host_state``."""
        verdict = rule.decide(
            nova_objects.request_of(spec_obj),
            nova_objects.aggregates_of(host_state),
            options.settings_from(CONF),
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
