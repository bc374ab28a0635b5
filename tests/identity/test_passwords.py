"""Hashes and verifiers."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest
from argon2 import PasswordHasher, Type
from scramp import ScramClient, ScramMechanism

from identity.errors import InvalidError
from identity.passwords import SCRAM_MECHANISMS, hash_password, is_password, scram_verifiers


def test_a_hash_is_of_its_password() -> None:
    first, second = hash_password(b"p\xff\0"), hash_password(b"p\xff\0")
    assert first != second
    assert first.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert is_password(b"p\xff\0", first)
    assert is_password(b"p\xff\0", second)
    assert not is_password(b"p\xff", first)
    assert not is_password(b"", first)


@pytest.mark.parametrize(
    "stored", ["", "p", "$argon2id$", "$2b$12$x", "$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$"]
)
def test_what_is_no_hash_is_nobodys(stored: str) -> None:
    assert not is_password(b"p", stored)


def test_hashes_of_other_costs_can_be_checked() -> None:
    stored = PasswordHasher(time_cost=1, memory_cost=64, parallelism=2, type=Type.I).hash("p")
    assert is_password(b"p", stored)
    assert not is_password(b"q", stored)


@pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS)
def test_a_verifier_is_of_its_password(mechanism: str) -> None:
    verifier = scram_verifiers("pencil")[mechanism]
    digest = "sha256" if mechanism.endswith("256") else "sha512"
    salted = hashlib.pbkdf2_hmac(digest, b"pencil", verifier.salt, verifier.iterations)
    client_key = hmac.digest(salted, b"Client Key", digest)
    assert verifier.stored_key == hashlib.new(digest, client_key).digest()
    assert verifier.server_key == hmac.digest(salted, b"Server Key", digest)
    assert verifier.salt not in repr(verifier).encode()
    assert base64.b64encode(verifier.stored_key).decode() not in repr(verifier)


@pytest.mark.parametrize("mechanism", SCRAM_MECHANISMS)
def test_a_client_can_log_in_by_it(mechanism: str) -> None:
    verifier = scram_verifiers("pencil")[mechanism]
    stored = (verifier.salt, verifier.stored_key, verifier.server_key, verifier.iterations)
    server = ScramMechanism(mechanism).make_server(lambda _: stored)
    client = ScramClient([mechanism], "u", "pencil")
    server.set_client_first(client.get_client_first())
    client.set_server_first(server.get_server_first())
    server.set_client_final(client.get_client_final())
    client.set_server_final(server.get_server_final())


def test_salts_differ() -> None:
    salts = {verifier.salt for _ in range(2) for verifier in scram_verifiers("pencil").values()}
    assert len(salts) == 4


@pytest.mark.parametrize("password", ["", "bell\u0007here"])
def test_passwords_that_cannot_be(password: str) -> None:
    with pytest.raises(InvalidError) as caught:
        scram_verifiers(password)
    assert "bell" not in str(caught.value)
    if not password:
        with pytest.raises(InvalidError):
            hash_password(b"")
