"""Credentials that cannot be, and placeholders that they do not prove."""

from __future__ import annotations

import pytest

from identity.answers import Rules
from identity.credentials import (
    BasicCredentials,
    Credentials,
    ScramCredentials,
    ScramVerifier,
    X509Credentials,
    check_credentials,
    unproven_placeholders,
)
from identity.errors import InvalidError

VERIFIERS = {"SCRAM-SHA-256": ScramVerifier(4096, b"salt", b"stored", b"server")}
BOTH = Rules(("${clientid}",), ("${username}",))


@pytest.mark.parametrize(
    ("credentials", "said"),
    [
        (BasicCredentials(name="a"), "need a client id, a user name, or both"),
        (BasicCredentials(name="", client_id="c"), "name of the credentials is empty"),
        (BasicCredentials(name="é" * 200, client_id="c"), "400 bytes"),
        (BasicCredentials(name="a", client_id=""), "client id is empty"),
        (BasicCredentials(name="a", username="u\0"), r"user name holds U\+0000"),
        (BasicCredentials(name="a", username="\ud800"), "not valid UTF-8"),
        (BasicCredentials(name="a", client_id="c" * 65_536), "65536 bytes"),
        (BasicCredentials(name="a", client_id="c", rules=Rules(("(",))), "cannot be read"),
        (X509Credentials(name="a", common_name=""), "common name is empty"),
        (X509Credentials(name="a", common_name="(", is_pattern=True), "cannot be read"),
        (X509Credentials(name="a", common_name="${clientid}", is_pattern=True), "no meaning here"),
        (ScramCredentials(name="a", username="u", verifiers={}), "need a password"),
        (ScramCredentials(name="a", username="", verifiers=VERIFIERS), "user name is empty"),
    ],
)
def test_what_cannot_be(credentials: Credentials, said: str) -> None:
    with pytest.raises(InvalidError, match=said) as caught:
        check_credentials(credentials)
    assert "\n" not in str(caught.value)


def test_an_exact_common_name_is_no_pattern() -> None:
    check_credentials(X509Credentials(name="a", common_name="("))


@pytest.mark.parametrize(
    ("credentials", "unproven"),
    [
        (BasicCredentials(name="a", client_id="c", username="u", rules=BOTH), set()),
        (BasicCredentials(name="a", client_id="c", rules=BOTH), {"${username}"}),
        (BasicCredentials(name="a", username="u", rules=BOTH), {"${clientid}"}),
        (BasicCredentials(name="a", username="u", rules=Rules(("x",))), set()),
        (X509Credentials(name="a", common_name="n", rules=BOTH), {"${clientid}"}),
        (ScramCredentials(name="a", username="u", verifiers=VERIFIERS, rules=BOTH), {"${clientid}"}),
    ],
)
def test_which_names_are_not_proven(credentials: Credentials, unproven: set[str]) -> None:
    assert unproven_placeholders(credentials) == unproven
