"""The settings of authentication: what they make, and that what is wrong is told clearly and without its value."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from identity.answers import Failure, Success
from identity.attempt import ConnectAttempt
from identity.chain import Chain
from identity.credentials import BasicCredentials, ScramCredentials, X509Credentials
from identity.errors import InvalidError
from identity.settings import load_settings

SECRET = "a-secret-of-thirty-two-bytes-or-more"


class Nothing:
    """A database without credentials."""

    def basic(self, client_id: str, username: str | None) -> tuple[int, list[BasicCredentials]]:  # noqa: ARG002
        return 1, []

    def x509(self) -> tuple[X509Credentials, ...]:
        return ()

    def revision(self) -> int:
        return 1

    def scram(self, username: str) -> ScramCredentials | None:  # noqa: ARG002
        return None


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment without settings of authentication."""
    for name in os.environ:
        if name.startswith("SLUICEMQ_AUTH_"):
            monkeypatch.delenv(name)
    return monkeypatch


def configure(given: pytest.MonkeyPatch, **settings: str) -> None:
    for name, value in settings.items():
        given.setenv(f"SLUICEMQ_AUTH_{name}", value)


def wrong(given: pytest.MonkeyPatch, **settings: str) -> str:
    """What is said of settings that are wrong."""
    configure(given, **settings)
    with pytest.raises(InvalidError) as raised:
        load_settings()
    return str(raised.value)


def made() -> Chain:
    return load_settings().chain(Nothing())


async def test_by_default_no_provider_is_enabled(given: pytest.MonkeyPatch) -> None:
    configure(given, JWT_SECRET="short, which does not matter where it is not enabled")
    assert made().is_open


async def test_the_order_is_that_of_the_setting(given: pytest.MonkeyPatch) -> None:
    configure(given, PROVIDERS="scram, jwt,x509 ,basic", JWT_SECRET=SECRET, SCRAM_SECRET=SECRET)
    chain = made()
    answer = await chain.authenticate(ConnectAttempt("c1"))
    assert isinstance(answer, Failure)
    assert [part.split(":")[0] for part in answer.reason.split("; ")] == ["scram", "jwt", "x509", "basic"]
    assert chain.converse("SCRAM-SHA-256", ConnectAttempt("c1")) is not None
    await chain.close()


async def test_every_provider_can_be_configured(given: pytest.MonkeyPatch, tmp_path: Path) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    pem = tmp_path / "key.pem"
    pem.write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    secret = tmp_path / "secret"
    secret.write_text(f"{SECRET}\n")
    headers = tmp_path / "headers.json"
    headers.write_text('{"Authorization": "Bearer token"}')
    configure(
        given,
        PROVIDERS="basic,x509,jwt,http,scram",
        X509_CLIENT_ID_IS_NAME="true",
        JWT_PUBLIC_KEY_FILE=str(pem),
        JWT_ALGORITHMS="ES256",
        JWT_ISSUER="mill",
        JWT_AUDIENCE="mqtt",
        JWT_CLAIMS='{"sub": "${username}", "tenant": "north"}',
        JWT_PUBLISH='["up/${clientid}/.*"]',
        JWT_SUBSCRIBE="[]",
        HTTP_URL="https://auth.example/mqtt",
        HTTP_BODY='{"id": "${clientid}", "from": ["${address}"]}',
        HTTP_HEADERS_FILE=str(headers),
        HTTP_ON_ERROR="skipped",
        SCRAM_SECRET_FILE=str(secret),
        SCRAM_METHODS="SCRAM-SHA-512",
    )
    settings = load_settings()
    assert settings.jwt is not None
    assert settings.jwt.publish == ("up/${clientid}/.*",)
    assert settings.jwt.subscribe == ()
    chain = settings.chain(Nothing())
    assert chain.converse("SCRAM-SHA-256", ConnectAttempt("c1")) is None
    assert chain.converse("SCRAM-SHA-512", ConnectAttempt("c1")) is not None
    await chain.close()


async def test_secrets_may_stand_in_the_environment_or_in_a_file(
    given: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    token = jwt.encode({"exp": int(time.time()) + 60}, SECRET).encode()
    for name, value in (("JWT_SECRET", SECRET), ("JWT_SECRET_FILE", str(file))):
        with given.context() as one:
            configure(one, PROVIDERS="jwt", **{name: value})
            settings = load_settings()
            assert SECRET not in repr(settings)
            answer = await settings.chain().authenticate(ConnectAttempt("c1", None, token))
            assert isinstance(answer, Success)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (
            {"PROVIDERS": "basic,ldap"},
            "SLUICEMQ_AUTH_PROVIDERS: .*no 'ldap': take some of basic, x509, jwt, http, scram",
        ),
        ({"PROVIDERS": "basic,basic"}, "'basic' stands there twice"),
        (
            {"PROVIDERS": "jwt"},
            r"SLUICEMQ_AUTH_JWT_…: .*one of secret, public_key \(or a file with either\) and jwks_url",
        ),
        ({"PROVIDERS": "jwt", "JWT_SECRET": "hush-hush"}, "too short: HS256 wants at least 32 bytes"),
        ({"PROVIDERS": "jwt", "JWT_SECRET": SECRET, "JWT_ALGORITHMS": "RS256"}, "can be HS256, HS384, HS512"),
        ({"PROVIDERS": "jwt", "JWT_SECRET": SECRET, "JWT_ALGORITHMS": "none"}, "can be HS256, HS384, HS512"),
        ({"PROVIDERS": "jwt", "JWT_SECRET": SECRET, "JWT_JWKS_URL": "https://keys.example"}, "one of secret"),
        (
            {"PROVIDERS": "jwt", "JWT_SECRET": SECRET, "JWT_SECRET_FILE": "/etc/hostname"},
            "secret_file are both set",
        ),
        (
            {"PROVIDERS": "jwt", "JWT_SECRET_FILE": "/nowhere/at-all"},
            "/nowhere/at-all, cannot be read: No such file",
        ),
        ({"PROVIDERS": "jwt", "JWT_SECRET_FILE": "/dev/null"}, "is empty"),
        ({"PROVIDERS": "jwt", "JWT_PUBLIC_KEY_FILE": "/dev/null"}, "no public key in PEM form"),
        ({"PROVIDERS": "jwt", "JWT_JWKS_URL": "http://keys.example/"}, "not protected by TLS"),
        ({"PROVIDERS": "jwt", "JWT_JWKS_URL": "file:///etc/passwd"}, "no URL"),
        ({"PROVIDERS": "jwt", "JWT_JWKS_URL": "https://a:hush-hush@keys.example"}, "would show it in logs"),
        ({"PROVIDERS": "jwt", "JWT_JWKS_URL": "https://k.example", "JWT_ALGORITHMS": "HS256"}, "no 'HS256'"),
        (
            {"PROVIDERS": "jwt", "JWT_SECRET": SECRET, "JWT_CLAIMS": "{hush-hush"},
            "SLUICEMQ_AUTH_JWT_CLAIMS: .*no JSON",
        ),
        (
            {"PROVIDERS": "jwt", "JWT_SECRET": SECRET, "JWT_CLAIMS": '{"a": "${user}"}'},
            r"there is no \$\{user\}",
        ),
        (
            {"PROVIDERS": "jwt", "JWT_SECRET": SECRET, "JWT_CLAIMS": '{"a": "${username}${clientid}"}'},
            "one placeholder",
        ),
        ({"PROVIDERS": "jwt", "JWT_SECRET": SECRET, "JWT_PUBLISH": '["("]'}, "cannot be read"),
        ({"PROVIDERS": "jwt", "JWT_SECRET": SECRET, "JWT_LEEWAY": "-1"}, "SLUICEMQ_AUTH_JWT_LEEWAY: "),
        (
            {"PROVIDERS": "jwt", "JWT_SECRET": SECRET, "JWT_AUDIANCE": "mqtt"},
            "no setting SLUICEMQ_AUTH_JWT_AUDIANCE",
        ),
        ({"PROVIDERS": "http"}, "SLUICEMQ_AUTH_HTTP_URL: Field required"),
        ({"PROVIDERS": "http", "HTTP_URL": "http://auth.example/"}, "not protected by TLS"),
        ({"PROVIDERS": "http", "HTTP_URL": "https://auth.example:port/"}, "no URL"),
        (
            {"PROVIDERS": "http", "HTTP_URL": "https://a.example", "HTTP_BODY": '{"a": "${pw}"}'},
            r"no \$\{pw\}",
        ),
        (
            {"PROVIDERS": "http", "HTTP_URL": "https://a.example", "HTTP_HEADERS": "hush-hush"},
            "JSON object of texts",
        ),
        (
            {"PROVIDERS": "http", "HTTP_URL": "https://a.example", "HTTP_HEADERS": '{"A": "x\\r\\nB: y"}'},
            "one line",
        ),
        ({"PROVIDERS": "http", "HTTP_URL": "https://a.example", "HTTP_ON_ERROR": "allow"}, "HTTP_ON_ERROR: "),
        ({"PROVIDERS": "basic", "BASIC_THREADS": "0"}, "SLUICEMQ_AUTH_BASIC_THREADS: "),
        ({"PROVIDERS": "scram"}, "SLUICEMQ_AUTH_SCRAM_…: .*same random text on all gateways"),
        ({"PROVIDERS": "scram", "SCRAM_SECRET": "hush-hush"}, "has 9 bytes: make it at least 16"),
        ({"PROVIDERS": "scram", "SCRAM_SECRET": SECRET, "SCRAM_METHODS": "SCRAM-SHA-1"}, "no 'SCRAM-SHA-1'"),
        ({"PROVIDERS": "scram", "SCRAM_SECRET": SECRET, "SCRAM_METHODS": ","}, "methods is empty"),
        ({"PROVIDERS": "x509", "X509_CLIENT_ID_IS_NAME": "hush-hush"}, "X509_CLIENT_ID_IS_NAME: "),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_what_is_wrong_is_told_without_its_value(
    given: pytest.MonkeyPatch, settings: dict[str, str], said: str
) -> None:
    sentence = wrong(given, **settings)
    assert re.search(said, sentence), sentence
    assert SECRET not in sentence
    assert "hush-hush" not in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize("host", ["127.0.0.1:8080", "localhost", "[::1]"])
async def test_on_loopback_no_tls_is_needed(given: pytest.MonkeyPatch, host: str) -> None:
    configure(given, PROVIDERS="http", HTTP_URL=f"http://{host}/auth")
    await made().close()


async def test_elsewhere_it_must_be_allowed(given: pytest.MonkeyPatch) -> None:
    configure(given, PROVIDERS="http", HTTP_URL="http://auth.example/", HTTP_ALLOW_PLAINTEXT="true")
    await made().close()


def test_a_provider_without_its_database_is_not_left_out_in_silence(given: pytest.MonkeyPatch) -> None:
    configure(given, PROVIDERS="basic,x509")
    with pytest.raises(InvalidError, match="'basic' needs a database"):
        load_settings().chain()


@pytest.mark.parametrize("name", ["JWT_JWKS_CA_FILE", "HTTP_CA_FILE"])
def test_a_file_of_authorities_that_is_not_there_is_told(given: pytest.MonkeyPatch, name: str) -> None:
    configure(given, PROVIDERS=name.split("_")[0].lower(), **{name: "/nowhere/at-all.pem"})
    url = "JWT_JWKS_URL" if name.startswith("JWT") else "HTTP_URL"
    configure(given, **{url: "https://service.example/"})
    with pytest.raises(InvalidError, match="a file of certificates cannot be used"):
        load_settings().chain()
