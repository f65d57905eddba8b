"""Options of traces."""

from oslo_config import cfg

GROUP = "tracing"
OPTIONS = (
    cfg.URIOpt(
        "endpoint",
        schemes=["http", "https"],
        help="Address of an OpenTelemetry collector that takes traces by OTLP over HTTP, such as "
        "http://collector:4318/v1/traces. Without it there are no traces. It needs the extra blazar[trace].",
    ),
    cfg.FloatOpt(
        "ratio",
        default=1.0,
        min=0.0,
        max=1.0,
        help="The part of the requests and events of which a trace is sent: 0.01 is one of a hundred.",
    ),
)
