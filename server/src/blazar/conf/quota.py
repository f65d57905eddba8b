"""Options of quotas."""

from oslo_config import cfg, types

GROUP = "quota"
OPTIONS = (
    cfg.StrOpt(
        "source",
        default="database",
        choices=[
            ("database", "limits are set with the API of this service"),
            ("keystone", "limits are Keystone's unified limits of the service of type reservation"),
        ],
        help="Where the limits of projects are kept. Keystone's need a role of the service's user in the "
        "system scope; while Keystone does not tell them, changes of leases that take more are refused "
        "with 503.",
    ),
    cfg.Opt(
        "limits",
        type=types.Dict(types.Integer(min=-1, max=2**53), bounds=False),
        default={},
        help="The limits of each project that has none of its own, as name:number, ... with -1 for none. "
        "What is not named has no limit, but for leases, which has 5000. What Keystone has registered counts "
        "more, where it is the source.",
    ),
    cfg.IntOpt(
        "window_days",
        default=30,
        min=1,
        max=3660,
        help="Days of the sliding window in which the hours of leases are summed up, for limits such as "
        "hosts_hours.",
    ),
)
