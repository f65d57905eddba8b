"""blazar-api for any WSGI server: ``blazar.wsgi.api:application``.

The configuration is read from ``blazar.conf`` in the folder that OS_BLAZAR_CONFIG_DIR names, /etc/blazar by
default. A mistake in it, or in the policy file, ends the server with one sentence, as ``blazar-api`` ends."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from wsgiref.types import WSGIApplication

from blazar.bootstrap.api import build_remote_api
from blazar.bootstrap.tracing import build_tracing
from blazar.cmd.api import NAME, ApiWorker
from blazar.cmd.process import configured, one_sentence, spare_from_collection

EXIT_CODE = 22 if "uwsgi" in sys.modules else 3
"""By these codes uWSGI and gunicorn know that no other worker would start either, and end."""


def _build() -> WSGIApplication:
    folder = os.environ.get("OS_BLAZAR_CONFIG_DIR", "/etc/blazar")
    conf = configured(["--config-file", str(Path(folder, "blazar.conf"))])
    ApiWorker.require_sound(conf)
    return build_remote_api(conf, build_tracing(conf, NAME))


with one_sentence(NAME, EXIT_CODE):
    application = _build()
spare_from_collection()
