"""The filter that nova-scheduler loads."""

import logging

import nova.conf
from nova.scheduler import filters

from blazarnova import nova_objects, options, rule

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

    def host_passes(
        self, host_state: nova_objects.NovaHostState, spec_obj: nova_objects.NovaRequestSpec
    ) -> bool:
        """Return whether the server of ``spec_obj`` may run on ``host_state``."""
        verdict = rule.decide(
            nova_objects.request_spec_of(spec_obj),
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
