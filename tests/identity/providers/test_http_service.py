"""The HTTP service: a real server on loopback that allows, denies, ignores, hangs, and talks nonsense."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from identity.answers import Answer, ClientType, Failure, Rules, Skipped, Success
from identity.attempt import ConnectAttempt
from identity.providers.bounded_http import BoundedHttp
from identity.providers.http_service import HttpProvider, ServiceCall, check_body
from tests.identity.providers.authority import make_root
from tests.identity.providers.loopback import Loopback, Reply, Request, http_server

ATTEMPT = ConnectAttempt("c1", "ann", b"pw", address="10.0.0.7")


@pytest.fixture
def service() -> Iterator[Loopback]:
    with http_server(lambda _: Reply.of({"result": "allow"})) as server:
        yield server


def provider_for(
    service: Loopback, *, ca_file: Path | None = None, headers: dict[str, str] | None = None, **call: Any
) -> HttpProvider:
    http = BoundedHttp(timeout=5, max_body=2_000, ca_file=ca_file, headers=headers)
    return HttpProvider(http, ServiceCall(url=f"{service.url}/auth", **call))


async def judge(service: Loopback, attempt: ConnectAttempt = ATTEMPT, **given: Any) -> Answer:
    provider = provider_for(service, **given)
    try:
        return await provider.authenticate(attempt)
    finally:
        await provider.close()


async def test_what_the_service_says_counts(service: Loopback) -> None:
    service.answer = lambda request: Reply.of(
        {"result": {"ann": "allow", "bob": "deny"}.get(request.json["username"], "ignore")}
    )
    assert await judge(service) == Success(ClientType.DEVICE, Rules(), "http")
    assert await judge(service, ConnectAttempt("c1", "bob", b"pw")) == Failure("the service denies it")
    assert isinstance(await judge(service, ConnectAttempt("c1", "eve", b"pw")), Skipped)
    [request, *_] = service.requests
    assert (request.method, request.path) == ("POST", "/auth")
    assert request.headers["Content-Type"] == "application/json"
    assert request.json == {"clientid": "c1", "username": "ann", "password": "pw"}


async def test_it_may_set_client_type_rules_and_end(service: Loopback) -> None:
    service.answer = lambda _: Reply.of(
        {
            "result": "allow",
            "client_type": "APPLICATION",
            "rules": {"publish": [], "subscribe": ["to/${clientid}/.*"]},
            "expires_at": 4_000_000_000,
        }
    )
    assert await judge(service) == Success(
        ClientType.APPLICATION,
        Rules(publish=(), subscribe=("to/${clientid}/.*",)),
        "http",
        expires_at=4_000_000_000.0,
    )


async def test_rules_that_it_does_not_set_are_those_of_the_configuration(service: Loopback) -> None:
    service.answer = lambda _: Reply.of({"result": "allow", "rules": {"publish": ["x"]}})
    answer = await judge(service, rules=Rules(publish=("a",), subscribe=("b",)))
    assert isinstance(answer, Success)
    assert answer.rules == Rules(publish=("x",), subscribe=("b",))


async def test_the_body_and_headers_are_as_configured(service: Loopback) -> None:
    root = make_root()
    attempt = ConnectAttempt("c1", None, b"\xff", root.issue("sensor-7").chain, "10.0.0.7")
    body = {
        "who": "id=${clientid};cn=${cert_common_name}",
        "user": "${username}",
        "labelled": "user ${username}",
        "nested": [{"from": "${address}"}, 7, None],
    }
    answer = await judge(service, attempt, body=body, headers={"Authorization": "Bearer t0p"})
    assert isinstance(answer, Success)
    assert answer.username is None  # the user name was sent, so it is the service that has judged it
    [request] = service.requests
    assert request.json == {
        "who": "id=c1;cn=sensor-7",
        "user": None,
        "labelled": None,
        "nested": [{"from": "10.0.0.7"}, 7, None],
    }
    assert request.headers["Authorization"] == "Bearer t0p"


async def test_a_crafted_name_stays_a_name(service: Loopback) -> None:
    name = '","password":"${password}","x":"\\\u2028\x7f'
    await judge(
        service, ConnectAttempt(name, "${password}", b"pw"), body={"a": "${clientid}", "b": "<${username}>"}
    )
    [request] = service.requests
    assert request.json == {"a": name, "b": "<${password}>"}


async def test_a_user_name_that_was_not_sent_is_not_proven(service: Loopback) -> None:
    answer = await judge(service, body={"id": "${clientid}"})
    assert isinstance(answer, Success)
    assert answer.username == ""


async def test_a_password_that_is_no_text_is_left_to_others(service: Loopback) -> None:
    assert isinstance(await judge(service, ConnectAttempt("c1", "ann", b"\xff")), Skipped)
    assert not service.requests


NONSENSE = [
    Reply(b"allow"),
    Reply(b""),
    Reply(b"[" * 1500),
    Reply(b"\xff{}"),
    Reply.of(["allow"]),
    Reply.of({}),
    Reply.of({"result": "ALLOW"}),
    Reply.of({"result": ["allow"]}),
    Reply.of({"result": "allow", "client_type": "ADMIN"}),
    Reply.of({"result": "allow", "rules": ["a"]}),
    Reply.of({"result": "allow", "rules": {"publish": "a"}}),
    Reply.of({"result": "allow", "rules": {"publish": ["("]}}),
    Reply.of({"result": "allow", "expires_at": "tomorrow"}),
    Reply(b'{"result": "allow", "expires_at": NaN}'),
    Reply.of({"result": "allow", "filler": "x" * 2_000}),
    Reply.of({"result": "allow"}, status=201),
    Reply.of({"result": "allow"}, status=500),
    Reply.of({"result": "allow"}, status=401),
    Reply(b'{"result": "allow"}', 302, {"Location": "/other"}),
    Reply(b'{"result": "allow"}', 200, {"Content-Encoding": "gzip"}),
]


@pytest.mark.parametrize("reply", NONSENSE, ids=lambda reply: f"{reply.status} {reply.body[:50]!r}")
async def test_nonsense_is_a_failure_or_skipped_as_configured(service: Loopback, reply: Reply) -> None:
    service.answer = lambda _: reply
    answer = await judge(service)
    assert isinstance(answer, Failure)
    assert answer.is_temporary
    assert isinstance(await judge(service, error_is_skip=True), Skipped)
    assert len(service.requests) == 2  # and no redirect was followed


async def test_a_service_that_is_not_there_is_a_failure_or_skipped(service: Loopback) -> None:
    gone = Loopback("http://127.0.0.1:1", service.answer)
    assert isinstance(await judge(gone), Failure)
    assert isinstance(await judge(gone, error_is_skip=True), Skipped)


async def test_a_service_that_hangs_is_given_up_and_asked_again(service: Loopback) -> None:
    good = service.answer
    may_answer = threading.Event()
    service.answer = lambda request: good(request) if may_answer.wait(20) else Reply(status=500)
    provider = provider_for(service, timeout=0.2, concurrency=2)
    answers = await asyncio.gather(*(provider.authenticate(ATTEMPT) for _ in range(6)))
    # Those that waited for a slot had no more time than those that were asked for.
    assert all(isinstance(answer, Failure) and answer.is_temporary for answer in answers)
    assert len(service.requests) <= 4
    may_answer.set()
    service.answer = good
    patient = provider_for(service, timeout=20.0, concurrency=2)
    assert isinstance(await patient.authenticate(ATTEMPT), Success)
    await provider.close()
    await patient.close()


async def test_what_is_asked_at_a_time_is_bounded(service: Loopback) -> None:
    lock, together, most = threading.Lock(), 0, 0
    two_are_in = threading.Event()

    def answer(_: Request) -> Reply:
        nonlocal together, most
        with lock:
            together += 1
            most = max(most, together)
            if together == 2:
                two_are_in.set()
        two_are_in.wait(20)
        with lock:
            together -= 1
        return Reply.of({"result": "allow"})

    service.answer = answer
    provider = provider_for(service, timeout=30.0, concurrency=2)
    answers = await asyncio.gather(*(provider.authenticate(ATTEMPT) for _ in range(20)))
    await provider.close()
    assert all(isinstance(answer, Success) for answer in answers)
    assert most == 2


async def test_a_client_that_goes_away_leaves_its_slot(service: Loopback) -> None:
    good = service.answer
    is_asked, may_answer = threading.Event(), threading.Event()

    def hang(request: Request) -> Reply:
        is_asked.set()
        may_answer.wait(20)
        return good(request)

    service.answer = hang
    provider = provider_for(service, timeout=20.0, concurrency=1)
    for _ in range(3):
        is_asked.clear()
        asking = asyncio.create_task(provider.authenticate(ATTEMPT))
        await asyncio.to_thread(is_asked.wait, 20)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
    may_answer.set()
    service.answer = good
    assert isinstance(await provider.authenticate(ATTEMPT), Success)
    await provider.close()


async def test_the_service_must_have_a_certificate_of_a_trusted_authority(tmp_path: Path) -> None:
    trusted, other = make_root("Trusted"), make_root("Other")
    ca_file = trusted.write_certificate(tmp_path)
    certificates = {
        "good": trusted.issue("auth", address="127.0.0.1"),
        "other address": trusted.issue("auth", address="127.0.0.2"),
        "other authority": other.issue("auth", address="127.0.0.1"),
    }
    for name, issued in certificates.items():
        with http_server(
            lambda _: Reply.of({"result": "allow"}), certificate=issued.write(tmp_path)
        ) as server:
            answer = await judge(server, ca_file=ca_file)
            assert isinstance(answer, Success if name == "good" else Failure), name
            # The password has not left the gateway.
            assert bool(server.requests) == (name == "good"), name


async def test_no_answer_shows_the_password(service: Loopback) -> None:
    attempt = ConnectAttempt("c1", "ann", b"pa55word")
    service.answer = lambda _: Reply(b"pa55word")
    for answer in (
        await judge(service, attempt),
        await judge(Loopback("http://127.0.0.1:1", service.answer), attempt),
    ):
        assert "pa55word" not in repr(answer)
    assert "pa55word" not in repr(attempt)


@pytest.mark.parametrize("body", [[], "text", {"a": "${user}"}, {"a": [{"b": "x${}"}]}])
def test_a_body_must_be_an_object_with_known_placeholders(body: Any) -> None:
    with pytest.raises(ValueError, match=r"object|there is no"):
        check_body(body)
