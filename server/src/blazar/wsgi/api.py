"""blazar-api for any WSGI server: ``blazar.wsgi.api:application``.

The configuration is read from ``blazar.conf`` in the folder that OS_BLAZAR_CONFIG_DIR names, /etc/blazar by
default."""

from __future__ import annotations

import os
from pathlib import Path

from blazar.bootstrap import build_remote_api, build_tracing
from blazar.cmd.process import configured

_conf = configured(
    ["--config-file", str(Path(os.environ.get("OS_BLAZAR_CONFIG_DIR", "/etc/blazar"), "blazar.conf"))]
)
application = build_remote_api(_conf, build_tracing(_conf, "blazar-api"))
