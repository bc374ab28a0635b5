"""A certificate authority for tests: roots, authorities below them, and certificates of clients and servers."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


def name(*common_names: str) -> x509.Name:
    """A subject with these common names."""
    return x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "Mill"),
            *(x509.NameAttribute(NameOID.COMMON_NAME, each) for each in common_names),
        ]
    )


@dataclass(frozen=True)
class Issued:
    """A certificate, its key, and the certificates above it."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey
    above: tuple[Issued, ...] = ()

    @property
    def der(self) -> bytes:
        """The certificate in DER."""
        return self.certificate.public_bytes(Encoding.DER)

    @property
    def chain(self) -> tuple[bytes, ...]:
        """It and those above it, in DER."""
        return (self.der, *(each.der for each in self.above))

    def issue(self, *common_names: str, is_authority: bool = False, address: str | None = None) -> Issued:
        """One that this one signs."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _signed(
            name(*common_names), key, self.certificate.subject, self.key, is_authority, address
        )
        return Issued(certificate, key, (self, *self.above))

    def write(self, folder: Path) -> Path:
        """A PEM file with the key, the certificate, and those above it but the root."""
        file = folder / f"{self.certificate.serial_number}.pem"
        parts = [self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())]
        parts += [each.certificate.public_bytes(Encoding.PEM) for each in (self, *self.above[:-1])]
        file.write_bytes(b"".join(parts))
        return file

    def write_certificate(self, folder: Path) -> Path:
        """A PEM file with the certificate alone."""
        file = folder / f"{self.certificate.serial_number}-certificate.pem"
        file.write_bytes(self.certificate.public_bytes(Encoding.PEM))
        return file


def make_root(common_name: str = "Root") -> Issued:
    """A new authority that signs itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    return Issued(_signed(name(common_name), key, name(common_name), key, True, None), key)


def _signed(
    subject: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    issuer: x509.Name,
    issuer_key: ec.EllipticCurvePrivateKey,
    is_authority: bool,
    address: str | None,
) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _DAY)
        .not_valid_after(now + _DAY)
        .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), critical=False
        )
    )
    if address is not None:
        builder = builder.add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(address))]), critical=False
        )
    return builder.sign(issuer_key, hashes.SHA256())
