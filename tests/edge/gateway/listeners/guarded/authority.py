"""A certificate authority of the tests' own, in PEM files."""

from __future__ import annotations

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_DAY = datetime.timedelta(days=1)
_SHA256 = hashes.SHA256()


@dataclass(frozen=True)
class Issued:
    """A certificate with its key, as files and as the certificate itself."""

    certificate: Path
    """The chain: its own first, then those between it and the root."""
    key: Path
    x509: x509.Certificate
    private_key: ec.EllipticCurvePrivateKey

    @property
    def der(self) -> bytes:
        """The certificate."""
        return self.x509.public_bytes(serialization.Encoding.DER)


class Authority:
    """Issues certificates; `root` of it is what others are to trust."""

    def __init__(self, folder: Path, name: str = "root", above: Authority | None = None) -> None:
        self.folder = folder
        self.above = above
        folder.mkdir(parents=True, exist_ok=True)
        self.own: Issued = self._issue(name, issuer=above.own if above else None, is_authority=True)
        self.root: Path = above.root if above else self.own.certificate

    def issue(
        self, name: str, *, is_server: bool = False, password: str | None = None, days: int = 1
    ) -> Issued:
        """Issue one for a server on 127.0.0.1, or for a client; `days` says how long it is valid from now on."""
        return self._issue(name, issuer=self.own, is_server=is_server, password=password, days=days)

    def _issue(
        self, name: str, issuer: Issued | None, *, is_authority: bool = False, is_server: bool = False,
        password: str | None = None, days: int = 1,
    ) -> Issued:  # fmt: skip
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        now = datetime.datetime.now(datetime.UTC)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(issuer.x509.subject if issuer else subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - 10 * _DAY)
            .not_valid_after(now + days * _DAY)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        builder = _identified(builder, key.public_key(), issuer, is_authority=is_authority)
        if not is_authority:
            usage = ExtendedKeyUsageOID.SERVER_AUTH if is_server else ExtendedKeyUsageOID.CLIENT_AUTH
            builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if is_server:
            alternatives = [x509.IPAddress(ipaddress.ip_address("127.0.0.1")), x509.DNSName("localhost")]
            builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        certificate = builder.sign(issuer.private_key if issuer else key, _SHA256)
        return self._write(name, certificate, key, password, is_authority=is_authority)

    def _write(
        self, name: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey, password: str | None,
        *, is_authority: bool,
    ) -> Issued:  # fmt: skip
        issued = Issued(self.folder / f"{name}.pem", self.folder / f"{name}.key", certificate, key)
        encoding = serialization.Encoding.PEM
        chain = certificate.public_bytes(encoding)
        authority = None if is_authority else self
        while authority is not None and authority.above is not None:
            chain += authority.own.x509.public_bytes(encoding)
            authority = authority.above
        issued.certificate.write_bytes(chain)
        encryption: serialization.KeySerializationEncryption = serialization.NoEncryption()
        if password is not None:
            encryption = serialization.BestAvailableEncryption(password.encode())
        issued.key.write_bytes(key.private_bytes(encoding, serialization.PrivateFormat.PKCS8, encryption))
        return issued


def _identified(
    builder: x509.CertificateBuilder,
    key: ec.EllipticCurvePublicKey,
    issuer: Issued | None,
    *,
    is_authority: bool,
) -> x509.CertificateBuilder:
    """What strict readers want, as Python's are from 3.13 on: whose key it is, who signed it, and for what."""
    signer = issuer.private_key.public_key() if issuer else key
    usage = x509.KeyUsage(
        digital_signature=not is_authority, key_cert_sign=is_authority, crl_sign=is_authority,
        content_commitment=False, key_encipherment=False, data_encipherment=False, key_agreement=False,
        encipher_only=False, decipher_only=False,
    )  # fmt: skip
    return (
        builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(signer), critical=False)
        .add_extension(usage, critical=True)
    )
