"""Clients that a service judges: what a CONNECT shows goes to it as JSON, and its answer counts.

The service is asked over verified TLS, by a bounded number of requests at a time, and each has its time, waiting
included: a service that hangs turns clients away (or leaves them to the next provider), and holds up nothing else.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from identity.answers import NO_RULES, Answer, Failure, Rules, Skipped, Success
from identity.attempt import ConnectAttempt
from identity.errors import InvalidError
from identity.providers.bounded_http import BoundedHttp, HttpServiceError
from identity.providers.certificate_names import CertificateError, names_along
from identity.providers.placeholders import check_template, fill, placeholders_in
from identity.providers.statements import stated_client_type, stated_end, stated_rules

PLACEHOLDERS = ("clientid", "username", "password", "address", "cert_common_name")
"""What may stand in the body's texts as `${…}`."""
DEFAULT_BODY: Mapping[str, Any] = {
    "clientid": "${clientid}",
    "username": "${username}",
    "password": "${password}",  # a placeholder  # nosec B105
}
"""What the service is sent unless the configuration says otherwise."""
_CERTIFICATE = "cert_common_name"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceCall:
    """How the service is asked."""

    url: str
    """Where it is."""
    body: Mapping[str, Any] = field(default_factory=lambda: DEFAULT_BODY)
    """The JSON object that it is sent; in texts `${…}` stands for what the client shows. A text whose placeholder has
    no value, as where there is no user name, is sent as null."""
    timeout: float = 5.0
    """Seconds for the whole of it."""
    concurrency: int = 50
    """Requests at a time; more wait, within their time."""
    error_is_skip: bool = False
    """Whether the next provider is asked when the service does not answer as it should; else it is a failure."""
    rules: Rules = NO_RULES
    """What clients may do for whom the service names no rules: by default everything."""


class HttpProvider:
    """Asks a service who a client is."""

    name = "http"

    def __init__(self, http: BoundedHttp, call: ServiceCall) -> None:
        """Asks by `call`, over `http`, which `close` closes."""
        self._http = http
        self._call = call
        self._slots = asyncio.Semaphore(call.concurrency)
        self._used = _placeholders_of(call.body)

    async def authenticate(self, attempt: ConnectAttempt) -> Answer:
        """What the service says of the client."""
        try:
            values = self._values(attempt)
        except (CertificateError, UnicodeDecodeError):
            return Skipped(
                "the password or the certificate is no text, which is all that the service can be sent"
            )
        body = json.dumps(_filled(self._call.body, values)).encode()
        try:
            async with asyncio.timeout(self._call.timeout), self._slots:
                answer = await self._http.post_json(self._call.url, body)
            if answer.status != 200:
                raise HttpServiceError(f"it answered with the status {answer.status}")
            return self._judge(answer.body)
        except TimeoutError:
            return self._no_answer("it did not answer in time")
        except HttpServiceError as error:
            return self._no_answer(str(error))

    def _no_answer(self, why: str) -> Answer:
        reason = f"the service could not be asked: {why}"
        return Skipped(reason) if self._call.error_is_skip else Failure(reason, is_temporary=True)

    def _values(self, attempt: ConnectAttempt) -> Mapping[str, str | None]:
        password = attempt.password
        return {
            "clientid": attempt.client_id,
            "username": attempt.username,
            # Only what is sent must be text.
            "password": password.decode() if password is not None and "password" in self._used else None,
            "address": attempt.address,
            _CERTIFICATE: (
                names_along(attempt.certificates).own
                if attempt.certificates and _CERTIFICATE in self._used
                else None
            ),
        }

    def _judge(self, body: bytes) -> Answer:
        said = _object_in(body)
        match said.get("result"):
            case "allow":
                return self._success(said)
            case "deny":
                return Failure("the service denies it")
            case "ignore":
                return Skipped("the service ignores it")
            case _:
                raise HttpServiceError("its result is none of allow, deny and ignore")

    def _success(self, said: Mapping[str, Any]) -> Success:
        rules = said.get("rules", {})
        if not isinstance(rules, dict):
            raise HttpServiceError("its rules are no object")
        try:
            return Success(
                stated_client_type(said, "client_type"),
                stated_rules(rules, "publish", "subscribe", self._call.rules),
                "http",
                username=None if "username" in self._used else "",  # else nobody has checked it
                expires_at=stated_end(said, "expires_at"),
            )
        except InvalidError as error:
            raise HttpServiceError(f"of its answer, {error}") from None

    async def close(self) -> None:
        """Close the connections to the service."""
        await self._http.close()


def check_body(body: Any) -> None:
    """ValueError where a body is no JSON object, or has placeholders that there are not."""
    if not isinstance(body, dict):
        raise ValueError("the body must be a JSON object")
    for text in _texts(body):
        check_template(text, PLACEHOLDERS)


def _texts(body: Any) -> list[str]:
    if isinstance(body, str):
        return [body]
    parts = body.values() if isinstance(body, Mapping) else body if isinstance(body, list) else ()
    return [text for part in parts for text in _texts(part)]


def _placeholders_of(body: Any) -> frozenset[str]:
    return frozenset(name for text in _texts(body) for name in placeholders_in(text))


def _filled(body: Any, values: Mapping[str, str | None]) -> Any:
    if isinstance(body, str):
        return fill(body, values)
    if isinstance(body, Mapping):
        return {key: _filled(part, values) for key, part in body.items()}
    return [_filled(part, values) for part in body] if isinstance(body, list) else body


def _object_in(body: bytes) -> Mapping[str, Any]:
    try:
        said = json.loads(body)
    except (ValueError, RecursionError):
        raise HttpServiceError("its answer is no JSON") from None
    if not isinstance(said, dict):
        raise HttpServiceError("its answer is no JSON object")
    return said
