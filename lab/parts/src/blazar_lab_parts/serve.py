"""A WSGI server for an OpenStack API: one process, one port, an access log, faults on demand.

    python -m blazar_lab_parts.serve MODULE:CALLABLE PORT ACCESS_LOG FAULT_FILE [ARGUMENT...]

The service finds the arguments on its command line.

While FAULT_FILE exists, the service fails: each request is answered with the next status that is written
in it ("503", or "500 503 200"; 200 lets the request through), in turn.
"""

from __future__ import annotations

import importlib
import itertools
import logging
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import waitress  # type: ignore[import-untyped]

THREADS = 8
CONNECTIONS = 1000

Environ = dict[str, Any]
StartResponse = Callable[..., Any]
Application = Callable[[Environ, StartResponse], Iterable[bytes]]


def main(target: str, port: str, access_log: str, fault_file: str, *arguments: str) -> None:
    # OpenStack's WSGI modules parse the command line of whatever process imports them
    sys.argv[1:] = arguments
    module, _, name = target.partition(":")
    application: Application = getattr(importlib.import_module(module), name)
    if "sqlalchemy.orm" in sys.modules:
        # Neutron's first request fails if it needs a relation that SQLAlchemy has not set up by then
        sys.modules["sqlalchemy.orm"].configure_mappers()
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)
    waitress.serve(
        AccessLog(Faults(application, Path(fault_file)), Path(access_log)),
        host="127.0.0.1",
        port=int(port),
        threads=THREADS,
        connection_limit=CONNECTIONS,
        channel_timeout=300,
        ident="",
    )


class Faults:
    """WSGI middleware that answers with the statuses in a file while the file exists."""

    def __init__(self, application: Application, path: Path) -> None:
        self._application = application
        self._path = path
        self._numbers: Iterator[int] = itertools.count()

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        status = self._fault()
        if status == 200:
            return self._application(environ, start_response)
        body = b'{"error": {"message": "a fault injected by the lab"}}'
        headers = [("Content-Type", "application/json"), ("Content-Length", str(len(body)))]
        start_response(f"{status} Injected Fault", headers)
        return [body]

    def _fault(self) -> int:
        try:
            statuses = self._path.read_text().split()
        except FileNotFoundError:
            return 200
        return int(statuses[next(self._numbers) % len(statuses)]) if statuses else 200


class AccessLog:
    """WSGI middleware that logs each request: time, milliseconds, status, method, path, user agent."""

    def __init__(self, application: Application, path: Path) -> None:
        self._application = application
        self._file = path.open("a", buffering=1)

    def __call__(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        began = time.time()
        answered: list[str] = []

        def remember(status: str, headers: list[tuple[str, str]], *rest: object) -> Any:
            answered.append(status.partition(" ")[0])
            return start_response(status, headers, *rest)

        try:
            return self._application(environ, remember)
        finally:
            path = environ.get("SCRIPT_NAME", "") + environ.get("PATH_INFO", "")
            query = environ.get("QUERY_STRING", "")
            self._file.write(
                f"{began:.3f} {1000 * (time.time() - began):.1f} {answered[-1] if answered else '-'} "
                f"{environ['REQUEST_METHOD']} {path}{'?' + query if query else ''} "
                f"{environ.get('HTTP_USER_AGENT', '-')!r}\n"
            )


if __name__ == "__main__":
    main(*sys.argv[1:])
