"""Certificates for servers of the tests."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def make_certificate(folder: Path) -> tuple[str, str]:
    """Return the files of a certificate of ``localhost``, which is its own authority, and of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    begin = datetime(2020, 1, 1, tzinfo=UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=36500))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False)
        .add_extension(x509.BasicConstraints(True, None), True)
        .sign(key, hashes.SHA256())
    )
    form = serialization.PrivateFormat.PKCS8
    secret = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(secret)
    return str(folder / "cert.pem"), str(folder / "key.pem")
