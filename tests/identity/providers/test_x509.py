"""Certificates: an authority of our own, real TLS handshakes, and whom a chain names."""

from __future__ import annotations

import ssl
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from identity.answers import Answer, ClientType, Failure, Rules, Skipped, Success
from identity.attempt import ConnectAttempt
from identity.credentials import X509Credentials
from identity.errors import DatabaseUnavailableError
from identity.providers.certificate_names import CertificateError, names_along
from identity.providers.x509 import X509Provider
from tests.identity.providers.authority import Issued, make_root


@pytest.fixture(scope="module")
def root() -> Issued:
    return make_root("Mill root")


@pytest.fixture(scope="module")
def fleet(root: Issued) -> Issued:
    """An authority below the root."""
    return root.issue("Fleet", is_authority=True)


@pytest.fixture(scope="module")
def sensor(fleet: Issued) -> Issued:
    return fleet.issue("sensor-7")


class Stored:
    """Credentials as the database would tell them, and how often it was asked."""

    def __init__(self, *credentials: X509Credentials) -> None:
        self.credentials = credentials
        self.number = 1
        self.reads = 0
        self.is_down = False

    def x509(self) -> Sequence[X509Credentials]:
        self.reads += 1
        return self.credentials

    def revision(self) -> int:
        if self.is_down:
            raise DatabaseUnavailableError("sqlite://", "it is away")
        return self.number


def exact(common_name: str, **more: object) -> X509Credentials:
    return X509Credentials(name=f"for {common_name}", common_name=common_name, **more)  # type: ignore[arg-type]


def pattern(text: str) -> X509Credentials:
    return X509Credentials(name=f"like {text}", common_name=text, is_pattern=True)


async def judge(
    chain: Sequence[bytes],
    *credentials: X509Credentials,
    client_id: str = "c1",
    client_id_is_name: bool = False,
) -> Answer:
    provider = X509Provider(Stored(*credentials), client_id_is_name=client_id_is_name, tells_whole_chain=True)
    return await provider.authenticate(ConnectAttempt(client_id, "someone", b"pw", tuple(chain)))


async def who(chain: Sequence[bytes], *credentials: X509Credentials) -> str:
    answer = await judge(chain, *credentials)
    return answer.who if isinstance(answer, Success) else type(answer).__name__


# Whom a chain finds ---------------------------------------------------------------------------------------------------


async def test_the_credentials_for_a_name_say_what_the_client_may(sensor: Issued) -> None:
    rules = Rules(publish=("up/${username}",), subscribe=())
    stored = exact("sensor-7", client_type=ClientType.APPLICATION, rules=rules, id=5)
    assert await judge(sensor.chain, stored) == Success(
        # The user name of CONNECT is the client's own claim; the certificate's is proven.
        ClientType.APPLICATION,
        rules,
        "x509:for sensor-7",
        credentials_id=5,
        username="sensor-7",
    )


async def test_the_name_next_to_the_client_counts(sensor: Issued) -> None:
    everything = (pattern(".*"), exact("Mill root"), exact("Fleet"))
    assert await who(sensor.chain, exact("sensor-7"), *everything) == "x509:for sensor-7"
    assert await who(sensor.chain, *everything) == "x509:like .*"
    assert await who(sensor.chain, *everything[1:]) == "x509:for Fleet"
    assert await who(sensor.chain, exact("Mill root")) == "x509:for Mill root"


async def test_patterns_match_whole_names_and_come_after_exact_ones(sensor: Issued) -> None:
    assert await who(sensor.chain, pattern("sensor-[0-9]+")) == "x509:like sensor-[0-9]+"
    assert await who(sensor.chain, pattern("sensor"), pattern("ensor-7"), pattern("sensor-")) == "Skipped"
    assert await who(sensor.chain, pattern("s.*"), exact("sensor-7")) == "x509:for sensor-7"
    assert await who(sensor.chain, pattern("s.*"), pattern("se.*")) == "x509:like s.*"


async def test_a_name_is_no_pattern_and_a_pattern_no_name(fleet: Issued) -> None:
    assert await who(fleet.issue("sensorX7").chain, exact("sensor.7")) == "Skipped"
    assert await who(fleet.issue(".*").chain, exact("sensor-7")) == "Skipped"
    assert await who(fleet.issue("Sensor-7").chain, exact("sensor-7")) == "Skipped"
    assert await who(fleet.issue("sensor-7\nx").chain, pattern("sensor-7")) == "Skipped"


async def test_a_pattern_that_is_none_lets_in_nobody_and_hinders_nobody(sensor: Issued) -> None:
    assert await who(sensor.chain, pattern("("), exact("Fleet")) == "x509:for Fleet"


async def test_without_certificate_or_credentials_the_next_provider_is_asked(sensor: Issued) -> None:
    assert isinstance(await judge((), exact("sensor-7")), Skipped)
    assert isinstance(await judge(sensor.chain), Skipped)


async def test_the_client_id_can_be_bound_to_the_certificate(sensor: Issued) -> None:
    for client_id, expected in (("sensor-7", Success), ("sensor-8", Failure)):
        answer = await judge(sensor.chain, exact("Fleet"), client_id=client_id, client_id_is_name=True)
        assert isinstance(answer, expected)


# Chains that are none -------------------------------------------------------------------------------------------------


async def test_certificates_that_a_client_adds_to_its_own_name_nobody(sensor: Issued) -> None:
    """If the unverified chain were given by mistake: a stranger's authority with a name of ours is not believed."""
    namesake = make_root("Fleet")
    for chain in (
        (sensor.der, namesake.der),
        (sensor.der, *make_root("Admins").chain),
        (sensor.der, sensor.der),
    ):
        assert isinstance(await judge(chain, exact("Fleet"), exact("Admins"), exact("sensor-7")), Failure)


async def test_a_certificate_with_two_names_is_refused(fleet: Issued) -> None:
    assert isinstance(await judge(fleet.issue("sensor-7", "admin").chain, exact("sensor-7")), Failure)


async def test_a_certificate_without_a_name_has_those_above_it(fleet: Issued) -> None:
    chain = fleet.issue().chain
    answer = await judge(chain, exact("Fleet"))
    assert isinstance(answer, Success)
    assert answer.username == ""
    assert isinstance(await judge(chain, exact("Fleet"), client_id="", client_id_is_name=True), Failure)


@pytest.mark.parametrize("chain", [(b"",), (b"junk",), (b"0\x82\xff\xff",)])
async def test_what_is_no_certificate_is_refused(chain: tuple[bytes, ...]) -> None:
    assert isinstance(await judge(chain, pattern(".*")), Failure)


def test_a_chain_is_not_endless(root: Issued) -> None:
    with pytest.raises(CertificateError, match="1 to 10"):
        names_along([root.der] * 11)


# What is kept of the database -----------------------------------------------------------------------------------------


async def test_credentials_are_read_again_when_some_have_changed(sensor: Issued) -> None:
    stored = Stored(exact("sensor-7"))
    provider = X509Provider(stored, tells_whole_chain=True)
    attempt = ConnectAttempt("c1", certificates=sensor.chain)
    for _ in range(3):
        assert isinstance(await provider.authenticate(attempt), Success)
    assert stored.reads == 1
    stored.credentials, stored.number = (), 2
    assert isinstance(await provider.authenticate(attempt), Skipped)
    assert stored.reads == 2


async def test_without_the_database_nobody_is_let_in(sensor: Issued) -> None:
    stored = Stored(exact("sensor-7"))
    stored.is_down = True
    answer = await X509Provider(stored).authenticate(ConnectAttempt("c1", certificates=sensor.chain))
    assert isinstance(answer, Failure)
    assert answer.is_temporary


# Over TLS -------------------------------------------------------------------------------------------------------------


def _verified(server_end: ssl.SSLObject) -> tuple[bytes, ...]:
    """What a listener would take from its connection."""
    if sys.version_info >= (3, 13):
        return tuple(server_end.get_verified_chain())
    own = server_end.getpeercert(True)
    return () if own is None else (own,)


def handshake(server: Issued, client: Issued | None, trusted: Issued, folder: Path) -> tuple[bytes, ...]:
    """The client's verified certificates, after a handshake of TLS in memory."""
    server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server_side.load_cert_chain(server.write(folder))
    server_side.load_verify_locations(trusted.write_certificate(folder))
    server_side.verify_mode = ssl.CERT_OPTIONAL
    client_side = ssl.create_default_context(cafile=str(trusted.write_certificate(folder)))
    if client is not None:
        client_side.load_cert_chain(client.write(folder))
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server_end = server_side.wrap_bio(to_server, to_client, server_side=True)
    client_end = client_side.wrap_bio(to_client, to_server, server_hostname="127.0.0.1")
    unfinished = [client_end, server_end]
    for _ in range(10):
        for end in list(unfinished):
            try:
                end.do_handshake()
                unfinished.remove(end)
            except ssl.SSLWantReadError:
                pass
    assert not unfinished
    return _verified(server_end)


async def test_a_certificate_that_tls_has_verified_finds_its_credentials(
    root: Issued, sensor: Issued, tmp_path: Path
) -> None:
    server = root.issue("gateway", address="127.0.0.1")
    chain = handshake(server, sensor, root, tmp_path)
    for common_name in (
        "sensor-7",
        "Fleet",
    ):  # its authority, which older Pythons tell by the issuer's name only
        answer = await X509Provider(Stored(exact(common_name))).authenticate(
            ConnectAttempt("c1", certificates=chain)
        )
        assert isinstance(answer, Success), answer
        assert answer.who == f"x509:for {common_name}"
    assert handshake(server, None, root, tmp_path) == ()


def test_a_certificate_of_a_foreign_authority_ends_the_handshake(root: Issued, tmp_path: Path) -> None:
    server = root.issue("gateway", address="127.0.0.1")
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(server, make_root("Mill root").issue("sensor-7"), root, tmp_path)


def test_the_issuer_counts_only_where_the_chain_is_not_told(sensor: Issued, root: Issued) -> None:
    assert names_along([sensor.der]).all == ("sensor-7",)
    assert names_along([sensor.der], with_issuer=True).all == ("sensor-7", "Fleet")
    assert names_along([root.der], with_issuer=True).all == ("Mill root",)
    assert names_along(sensor.chain).all == ("sensor-7", "Fleet", "Mill root")
