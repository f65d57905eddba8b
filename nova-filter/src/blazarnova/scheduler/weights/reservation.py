"""The weigher that nova-scheduler loads."""

import nova.conf
from nova.scheduler import weights

from blazarnova import nova_objects, options, rule

# nova-scheduler passes no configuration to a weigher, so this is its global one.
CONF = nova.conf.CONF
options.register(CONF)


class ReservationWeigher(weights.BaseHostWeigher):  # type: ignore[misc]  # the base class is Nova's
    """Use what a project has reserved, and opened to its ordinary servers, before ordinary hosts, and hosts
    that are lent after others."""

    # Nova cuts weights off at these, and makes them 0 and 1: hosts that are all preferred are not told apart.
    minval = rule.LEAST_PREFERENCE
    maxval = rule.GREATEST_PREFERENCE

    def weight_multiplier(self, host_state: nova_objects.NovaHostState) -> float:
        """Return the operator's multiplier, which is the same for all hosts, times what Nova divides by."""
        return options.match_weight_multiplier(CONF) * (self.maxval - self.minval)

    def _weigh_object(
        self, host_state: nova_objects.NovaHostState, weight_properties: nova_objects.NovaRequestSpec
    ) -> float:
        return nova_objects.weight_of(host_state, weight_properties, options.settings_from(CONF))
