"""Certificates for benches: an authority, the broker's and the clients' own, ECDSA on P-256, valid for a day."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from admin.stack.ports import LOOPBACK

CLIENT = "bench-device"
"""The common name of the clients' certificate."""


@dataclass(frozen=True)
class CertificateSet:
    """PEM files, each with its key in it but the authority's."""

    authority: Path
    broker: Path
    client: Path


def write_certificates(folder: Path) -> CertificateSet:
    """Make all of them, signed by the one authority."""
    name = _name("bench authority")
    key = ec.generate_private_key(ec.SECP256R1())
    own = _unsigned(name, name, key).add_extension(
        x509.BasicConstraints(ca=True, path_length=0), critical=True
    )
    authority = own.sign(key, hashes.SHA256())
    (folder / "authority.pem").write_bytes(authority.public_bytes(serialization.Encoding.PEM))
    address = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(LOOPBACK))])
    for file, common_name, extension in (("broker", "broker", address), ("client", CLIENT, None)):
        own_key = ec.generate_private_key(ec.SECP256R1())
        builder = _unsigned(_name(common_name), name, own_key)
        if extension is not None:
            builder = builder.add_extension(extension, critical=False)
        private = own_key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        signed = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        (folder / f"{file}.pem").write_bytes(private + signed)
    return CertificateSet(*(folder / f"{file}.pem" for file in ("authority", "broker", "client")))


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])


def _unsigned(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + datetime.timedelta(days=1))
    )
