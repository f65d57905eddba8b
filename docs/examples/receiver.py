"""A receiver of messages about leases: it takes only those that were signed with the secret."""

import base64
import hashlib
import hmac
import json
import os
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

KEY = base64.b64decode(os.environ["BLAZAR_SECRET"].removeprefix("whsec_"))
LONGEST = 10_000_000
OLDEST = 300
"""Seconds."""


def is_genuine(headers, body):
    """Return whether the message is signed with the secret, and new."""
    stamp = headers.get("webhook-timestamp", "")
    if not stamp.isdecimal() or abs(time.time() - int(stamp)) > OLDEST:
        return False
    content = f"{headers.get('webhook-id', '')}.{stamp}.".encode() + body
    digest = hmac.new(KEY, content, hashlib.sha256).digest()
    expected = "v1," + base64.b64encode(digest).decode()
    given = headers.get("webhook-signature", "").encode()
    return hmac.compare_digest(given, expected.encode())


class Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        length = int(self.headers.get("Content-Length", 0))
        if length > LONGEST:
            self.send_error(413)
            return
        body = self.rfile.read(length)
        if not is_genuine(self.headers, body):
            self.send_error(403)
            return
        message = json.loads(body)
        print(message["event"], message["lease"]["name"], flush=True)
        self.send_response(204)
        self.end_headers()

    def log_message(self, format, *args):
        pass


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8080
    ThreadingHTTPServer(("127.0.0.1", port), Receiver).serve_forever()
