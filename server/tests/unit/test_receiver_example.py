"""The receiver of the user's page takes what the service signs, and nothing else."""

from __future__ import annotations

import runpy
import threading
from datetime import UTC, datetime, timedelta
from http.server import ThreadingHTTPServer
from ipaddress import ip_network
from pathlib import Path

import pytest

from blazar.adapters.webhooks import HttpSender, WebhookSettings
from blazar.domain.errors import NotDelivered
from blazar.service.ports import WebhookMessage
from blazar.service.webhook_signature import new_secret, signed

PROGRAM = Path(__file__).parents[3] / "docs/examples/receiver.py"


@pytest.mark.slow
def test_the_receiver_takes_what_is_signed_with_its_secret_just_now(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = new_secret()
    monkeypatch.setenv("BLAZAR_SECRET", secret)
    server = ThreadingHTTPServer(("127.0.0.1", 0), runpy.run_path(str(PROGRAM))["Receiver"])
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    url = f"http://127.0.0.1:{server.server_address[1]}/"
    sender = HttpSender(WebhookSettings(allowed=[ip_network("127.0.0.0/8")]))
    document = {"event": "started", "lease": {"id": "l1", "name": "training"}}
    now = datetime.now(UTC)  # noqa: TID251 - the receiver reads the clock of the machine
    try:
        for key, moment, is_taken in (
            (secret, now, True),
            (new_secret(), now, False),
            (secret, now - timedelta(minutes=6), False),
        ):
            message = WebhookMessage(1, "s1", url, key, document, 0, None, "t")
            headers, body = signed(message, moment)
            if is_taken:
                sender.post(url, headers, body)
                body = body.replace(b"training", b"tampered")
            with pytest.raises(NotDelivered, match="403"):
                sender.post(url, headers, body)
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
    assert capsys.readouterr().out == "started training\n"
