"""The settings of the HTTP service, `SLUICEMQ_AUTH_HTTP_…`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_settings import SettingsConfigDict

from identity.answers import Rules
from identity.providers.bounded_http import BoundedHttp
from identity.providers.http_service import DEFAULT_BODY, HttpProvider, ServiceCall, check_body
from identity.setting_values import (
    JsonObject,
    Patterns,
    ProviderSettings,
    check_url,
    checked_rules,
    secret_of,
)


class HttpSettings(ProviderSettings):
    """Which service judges clients, and how it is asked."""

    model_config = SettingsConfigDict(env_prefix="SLUICEMQ_AUTH_HTTP_")

    url: str
    """Where the service is."""
    body: Annotated[JsonObject, Field(default_factory=lambda: dict(DEFAULT_BODY))]
    """What it is sent."""
    headers: SecretStr | None = None
    """A JSON object of headers for each request, such as the service's own token, or"""
    headers_file: Path | None = None
    """a file with one."""
    timeout: Annotated[float, Field(gt=0, le=60)] = 5.0
    """Seconds for the whole of it."""
    concurrency: Annotated[int, Field(ge=1, le=1000)] = 50
    """Requests at a time."""
    on_error: Literal["failure", "skipped"] = "failure"
    """What it is when the service does not answer as it should."""
    max_answer: Annotated[int, Field(ge=256, le=1 << 20)] = 65_536
    """Largest answer in bytes."""
    ca_file: Path | None = None
    """The authorities (PEM) that the service may have its certificate from, instead of the system's."""
    allow_plaintext: bool = False
    """Whether the service may be at a URL without TLS on another machine."""
    publish: Patterns = None
    """The patterns for publishing where the service names none."""
    subscribe: Patterns = None
    """The patterns for subscribing where the service names none."""

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        check_url(self.url, self.allow_plaintext)
        check_body(self.body)
        checked_rules(self.publish, self.subscribe)
        self._headers()
        return self

    def _headers(self) -> dict[str, str]:
        secret = secret_of("headers", self.headers, self.headers_file)
        if secret is None:
            return {}
        try:
            headers = json.loads(secret.get_secret_value())
        except (ValueError, RecursionError):
            headers = None
        if not isinstance(headers, dict) or not all(
            isinstance(text, str) and text.isprintable() for pair in headers.items() for text in pair
        ):
            raise ValueError("the headers must be a JSON object of texts in one line each")
        return headers

    def provider(self) -> HttpProvider:
        """The provider that is configured so."""
        http = BoundedHttp(
            timeout=self.timeout,
            max_body=self.max_answer,
            max_connections=self.concurrency,
            ca_file=self.ca_file,
            headers=self._headers(),
        )
        call = ServiceCall(
            url=self.url,
            body=self.body,
            timeout=self.timeout,
            concurrency=self.concurrency,
            error_is_skip=self.on_error == "skipped",
            rules=Rules(self.publish, self.subscribe),
        )
        return HttpProvider(http, call)
