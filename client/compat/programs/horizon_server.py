"""A program that serves Horizon with the reservation plugin, on a free port of this machine, for browsers.

The Python of Horizon's environment runs it; KEYSTONE_URL names the cloud. Its address is its first line of
output.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from socketserver import ThreadingMixIn
from wsgiref.simple_server import WSGIServer, make_server

sys.path.insert(0, str(Path(__file__).parent))
os.environ["DJANGO_SETTINGS_MODULE"] = "horizon_settings"

import django

django.setup()
logging.disable(logging.CRITICAL)

from django.contrib.staticfiles.handlers import StaticFilesHandler  # noqa: E402
from django.core.handlers.wsgi import WSGIHandler  # noqa: E402
from django.core.servers.basehttp import WSGIRequestHandler  # noqa: E402


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        pass


if __name__ == "__main__":
    with make_server("127.0.0.1", 0, StaticFilesHandler(WSGIHandler()), _Server, _Quiet) as server:
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()
