"""Options of the calendar page."""

from oslo_config import cfg

GROUP = "dashboard"
OPTIONS = (
    cfg.BoolOpt(
        "enabled",
        default=True,
        help="Serve the calendar page at /dashboard/, beside the API. Its files are the same for everybody, "
        "and are answered without a token.",
    ),
    cfg.StrOpt(
        "keystone_url",
        default="",
        help="The address of Keystone, with /v3, at which the browsers of users reach it. By default that of "
        "[keystone_authtoken] www_authenticate_uri. Keystone has to allow the page's origin in its own "
        "[cors] allowed_origin.",
    ),
)
