"""The common names along a client's certificate chain.

TLS has verified the chain; that is not done again here. Only that each certificate is signed by the next one is
checked, so that a chain which is not the verified one by mistake (a client may send any certificates beside its own)
gives names to nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.x509 import Certificate, Name, NameOID, load_der_x509_certificate

_MAX_CHAIN = 10  # OpenSSL verifies no more than a hundred; nobody has more than three or four


class CertificateError(ValueError):
    """No names can be taken from these certificates."""


@dataclass(frozen=True, slots=True)
class ChainNames:
    """Whom a chain names."""

    own: str | None
    """The common name of the client's own certificate; None where it has none."""
    all: tuple[str, ...]
    """The common names along the chain, the client's first; certificates without one give none."""


def names_along(chain: Sequence[bytes], *, with_issuer: bool = False) -> ChainNames:
    """The common names of a chain in DER.

    Args:
        chain: The client's certificate, then each one's issuer; at least one.
        with_issuer: Whether the issuer that the last certificate names counts as one more. Right only where TLS has
            verified that issuer, but does not tell its certificate (Python before 3.13).

    Raises:
        CertificateError: The chain is none, or a certificate has several common names: which would count?
    """
    certificates = _load(chain)
    for certificate, issuer in pairwise(certificates):
        try:
            certificate.verify_directly_issued_by(issuer)
        except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
            raise CertificateError("a certificate of the chain is not signed by the next one") from None
    names = [_common_name(certificate.subject) for certificate in certificates]
    last = certificates[-1]
    if with_issuer and last.issuer != last.subject:
        names.append(_common_name(last.issuer))
    return ChainNames(names[0], tuple(name for name in names if name is not None))


def _load(chain: Sequence[bytes]) -> list[Certificate]:
    if not 1 <= len(chain) <= _MAX_CHAIN:
        raise CertificateError(f"a chain has 1 to {_MAX_CHAIN} certificates")
    try:
        return [load_der_x509_certificate(each) for each in chain]
    except (ValueError, UnsupportedAlgorithm):
        raise CertificateError("a certificate cannot be read") from None


def _common_name(name: Name) -> str | None:
    try:
        attributes = name.get_attributes_for_oid(NameOID.COMMON_NAME)
    except ValueError:
        raise CertificateError("a certificate's subject cannot be read") from None
    if len(attributes) > 1:
        raise CertificateError("a certificate has several common names")
    if not attributes:
        return None
    value = attributes[0].value
    if not isinstance(value, str):
        raise CertificateError("a common name is no text")
    return value
