"""blazar-api for any WSGI server: ``blazar.wsgi.api:application``.

The configuration is read from ``blazar.conf`` in the folder that OS_BLAZAR_CONFIG_DIR names, /etc/blazar by
default."""

from __future__ import annotations

import os
from pathlib import Path

from blazar.bootstrap import build_remote_api
from blazar.cmd.process import configured

application = build_remote_api(
    configured(
        ["--config-file", str(Path(os.environ.get("OS_BLAZAR_CONFIG_DIR", "/etc/blazar"), "blazar.conf"))]
    )
)
