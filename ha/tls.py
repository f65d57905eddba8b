"""Certificates of authorities of our own, and a front that ends TLS before a server of the machine."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from .programs import HOST

NAME = "localhost"
"""The only name in the certificates. HOST is the same place, and not in them."""
BEGIN = datetime(2020, 1, 1, tzinfo=UTC)
END = BEGIN + timedelta(days=36500)


@dataclass(frozen=True)
class Certificate:
    """The files of a certificate for ``NAME``, of its key and of its authority."""

    file: Path
    key: Path
    authority: Path


def issue(folder: Path, name: str) -> Certificate:
    """Return a certificate of a new authority."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, f"authority {name}")])
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, NAME)])
    usage = dict.fromkeys(KEY_USAGE, False) | {"key_cert_sign": True, "crl_sign": True}
    authority = (
        _begun(issuer, issuer, authority_key)
        .add_extension(x509.BasicConstraints(True, None), True)
        .add_extension(x509.KeyUsage(**usage), True)
        .sign(authority_key, hashes.SHA256())
    )
    known_as = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    made = (
        _begun(subject, issuer, key)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(NAME)]), False)
        .add_extension(x509.BasicConstraints(False, None), True)
        .add_extension(known_as, False)
        .sign(authority_key, hashes.SHA256())
    )
    files = Certificate(*(folder / f"{name}.{end}.pem" for end in ("cert", "key", "authority")))
    files.file.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    files.authority.write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    form, secret = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    files.key.write_bytes(key.private_bytes(serialization.Encoding.PEM, form, secret))
    return files


KEY_USAGE = (
    "digital_signature", "content_commitment", "key_encipherment", "data_encipherment", "key_agreement",
    "key_cert_sign", "crl_sign", "encipher_only", "decipher_only",
)  # fmt: skip


def _begun(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    number = x509.random_serial_number()
    return x509.CertificateBuilder(issuer, subject, key.public_key(), number, BEGIN, END).add_extension(
        x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False
    )


class Front:
    """A port that speaks TLS and hands on what comes to a port that does not.

    With ``proof``, it lets in only those who show a certificate of that authority."""

    def __init__(self, target: tuple[str, int], shown: Certificate, proof: Path | None = None) -> None:
        self._target = target
        self.let_in = 0
        """Connections whose two sides were content with each other."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(shown.file, shown.key)
        if proof is not None:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(proof)
            # With TLS 1.3 a client learns only later that it was not let in.
            context.maximum_version = ssl.TLSVersion.TLSv1_2
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="TLS front", daemon=True)
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._serve(context), self._loop).result(10)
        self.port: int = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _serve(self, context: ssl.SSLContext) -> asyncio.Server:
        return await asyncio.start_server(self._connected, HOST, 0, ssl=context)

    async def _end(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _connected(self, near: asyncio.StreamReader, back: asyncio.StreamWriter) -> None:
        self.let_in += 1
        # Either side may be gone at any time, which ends both.
        with contextlib.suppress(OSError, asyncio.CancelledError), _aborted(back):
            far, there = await asyncio.open_connection(*self._target)
            with _aborted(there):
                both = {asyncio.ensure_future(_pump(near, there)), asyncio.ensure_future(_pump(far, back))}
                try:
                    await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for each in both:
                        each.cancel()


@contextlib.contextmanager
def _aborted(writer: asyncio.StreamWriter) -> Iterator[None]:
    """Drop the connection at the end."""
    try:
        yield
    finally:
        writer.transport.abort()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while words := await source.read(65536):
            sink.write(words)
            await sink.drain()
