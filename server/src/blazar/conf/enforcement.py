"""Options of usage enforcement."""

from oslo_config import cfg

GROUP = "enforcement"
OPTIONS = (
    cfg.ListOpt(
        "enabled_filters",
        default=[],
        help="The usage filters that are asked about leases, in this order: MaxLeaseDurationFilter, "
        "ExternalServiceFilter, or names of the entry point group blazar.enforcement.filters.",
    ),
    cfg.ListOpt("exempt_projects", default=[], help="Ids of projects whose leases no filter looks at."),
    cfg.IntOpt(
        "max_lease_duration",
        default=-1,
        min=-1,
        help="Seconds that a lease may last, for MaxLeaseDurationFilter; -1 for any time.",
    ),
    cfg.ListOpt(
        "max_lease_duration_exempt_project_ids",
        default=[],
        help="Ids of projects whose leases may last as long as they want.",
    ),
    cfg.StrOpt(
        "external_service_base_endpoint",
        help="Address below which ExternalServiceFilter finds check-create, check-update and on-end; it ends "
        "in a slash.",
    ),
    cfg.StrOpt(
        "external_service_check_create_endpoint", help="Address that is asked whether a lease may be made."
    ),
    cfg.StrOpt(
        "external_service_check_update_endpoint", help="Address that is asked whether a lease may change."
    ),
    cfg.StrOpt("external_service_on_end_endpoint", help="Address that is told that a lease has ended."),
    cfg.StrOpt(
        "external_service_commit_create_endpoint",
        help="Address that is told that a lease was made; without it none is.",
    ),
    cfg.StrOpt(
        "external_service_commit_update_endpoint",
        help="Address that is told that a lease was changed; without it none is.",
    ),
    cfg.StrOpt("external_service_token", default="", secret=True, help="Token that is sent as X-Auth-Token."),
    cfg.StrOpt(
        "external_service_bearer_token",
        default="",
        secret=True,
        help="Token that is sent as Authorization: Bearer.",
    ),
    cfg.BoolOpt(
        "external_service_own_token",
        default=False,
        help="Send the reservation service's own Keystone token as X-Auth-Token, where "
        "external_service_token is not set. Who has it has the service's rights.",
    ),
    cfg.StrOpt(
        "external_service_auth_url",
        help="What the external service is told as auth_url; by default Keystone's address in the catalog.",
    ),
    cfg.FloatOpt(
        "external_service_timeout",
        default=5.0,
        min=0.1,
        max=30.0,
        help="Seconds that one call to the external service may take.",
    ),
    cfg.BoolOpt(
        "external_service_fail_open",
        default=False,
        help="Allow leases while the external service does not answer, or answers neither yes nor no.",
    ),
    cfg.StrOpt(
        "external_service_cafile",
        help="File of the certificates by which the external service is known; by default those of the "
        "system.",
    ),
)
