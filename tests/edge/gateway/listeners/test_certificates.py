"""PEM files of listeners: what can't be used says what to change, and a change is taken up when it is whole."""

from __future__ import annotations

import shutil
import ssl
from pathlib import Path

import pytest
from pydantic import SecretStr

from edge.gateway.errors import CertificateFilesError
from edge.gateway.listeners.certificates import CertificateFiles, Certificates, ClientAuth
from tests.edge.gateway.listeners.guarded.authority import Authority


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


def test_a_key_in_a_file_of_its_own_with_a_password_or_in_the_certificates(
    authority: Authority, tmp_path: Path
) -> None:
    own, locked = authority.issue("own"), authority.issue("locked", password="secret")
    together = tmp_path / "together.pem"
    together.write_bytes(own.certificate.read_bytes() + own.key.read_bytes())
    for files in (
        CertificateFiles(own.certificate, own.key),
        CertificateFiles(locked.certificate, locked.key, SecretStr("secret")),
        CertificateFiles(together),
    ):
        context = Certificates("TLS", files).context
        assert context.minimum_version is ssl.TLSVersion.TLSv1_2
        assert context.verify_mode is ssl.CERT_NONE


@pytest.mark.parametrize(
    ("auth", "mode"), [(ClientAuth.OPTIONAL, ssl.CERT_OPTIONAL), (ClientAuth.REQUIRED, ssl.CERT_REQUIRED)]
)
def test_clients_certificates(authority: Authority, auth: ClientAuth, mode: ssl.VerifyMode) -> None:
    own = authority.issue("own")
    files = CertificateFiles(own.certificate, own.key, client_auth=auth, client_authorities=authority.root)
    context = Certificates("TLS", files).context
    assert context.verify_mode is mode
    assert [each["subject"] for each in context.get_ca_certs()] == [((("commonName", "root"),),)]


def test_what_cannot_be_used_says_which_file_and_what_to_do(authority: Authority, tmp_path: Path) -> None:
    own, other = authority.issue("own"), authority.issue("other")
    locked = authority.issue("locked", password="secret")
    missing, junk = tmp_path / "missing.pem", tmp_path / "junk.pem"
    junk.write_bytes(b"junk")
    broken = tmp_path / "broken.pem"
    broken.write_bytes(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")
    demanding = CertificateFiles(own.certificate, own.key, client_auth=ClientAuth.REQUIRED)
    for files, *words in (
        (CertificateFiles(missing, own.key), "certificate", missing, "No such file"),
        (CertificateFiles(tmp_path, own.key), "certificate", tmp_path, "Is a directory"),
        (CertificateFiles(junk, own.key), "certificate", junk, "PEM"),
        (CertificateFiles(own.key, own.key), "certificate", own.key, "PEM"),
        (CertificateFiles(broken, own.key), "certificate", broken),
        (CertificateFiles(own.certificate, missing), "private key", missing, "No such file"),
        (CertificateFiles(own.certificate, junk), "private key", junk, "PEM"),
        (CertificateFiles(own.certificate), "private key", own.certificate),
        (CertificateFiles(own.certificate, other.key), other.key, "MISMATCH", "belongs"),
        (CertificateFiles(locked.certificate, locked.key), locked.key, "password"),
        (CertificateFiles(locked.certificate, locked.key, SecretStr("wrong")), locked.key, "password"),
        (CertificateFiles(locked.certificate, locked.key, SecretStr("x" * 2_000)), locked.key, "password"),
        (demanding, "authorities", "name"),
        (CertificateFiles(own.certificate, own.key, None, ClientAuth.OPTIONAL, missing), "authorities", missing),
        (CertificateFiles(own.certificate, own.key, None, ClientAuth.OPTIONAL, junk), "authorities", junk),
        (CertificateFiles(own.certificate, own.key, None, ClientAuth.OPTIONAL, broken), "authorities", broken),
    ):  # fmt: skip
        with pytest.raises(CertificateFilesError) as raised:
            Certificates("TLS", files)
        message = str(raised.value)
        assert all(str(word) in message for word in ("The TLS listener", *words)), message
        assert "secret" not in message
        assert "wrong" not in message


def test_a_change_is_taken_up_when_it_is_whole(
    authority: Authority, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = authority.issue("first"), authority.issue("second")
    files = CertificateFiles(tmp_path / "own.pem", tmp_path / "own.key")

    def put(what: Path, where: Path | None) -> None:
        """As renewing tools do: under another name, then moved over the old one."""
        assert where is not None
        shutil.move(shutil.copy(what, where.with_suffix(".new")), where)

    put(first.certificate, files.certificate)
    put(first.key, files.key)
    certificates = Certificates("TLS", files)
    context = certificates.context
    assert not certificates.reload_if_changed()

    put(second.certificate, files.certificate)
    assert not certificates.reload_if_changed()
    assert certificates.context is context
    [record] = caplog.records
    assert "kept" in record.message
    assert "MISMATCH" in record.message
    assert not certificates.reload_if_changed()
    assert len(caplog.records) == 1, "one state of the files is told once"

    put(second.key, files.key)
    assert certificates.reload_if_changed()
    assert certificates.context is not context
    assert not certificates.reload_if_changed()

    kept = certificates.context
    files.certificate.unlink()
    assert not certificates.reload_if_changed()
    assert not certificates.reload()
    assert certificates.context is kept
    put(second.certificate, files.certificate)
    assert certificates.reload_if_changed()
