"""HTTP as the providers need it: verified TLS, no redirects, no proxies, and answers of bounded size.

Nothing here reads the environment: no proxy, no .netrc and no certificate file that a shell left behind changes whom a
gateway trusts. Never logs what it sends.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx


class HttpServiceError(Exception):
    """The service could not be asked, or what it said cannot be used; the message has no secret in it."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What a service said."""

    status: int
    """The status code."""
    body: bytes
    """All of the body."""


class BoundedHttp:
    """A pool of connections to one service."""

    def __init__(
        self,
        *,
        timeout: float,
        max_body: int,
        max_connections: int = 10,
        ca_file: Path | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """A pool without connections.

        Args:
            timeout: Seconds for the whole of a request, so that an answer that drips in ends, too.
            max_body: Bytes of an answer's body above which it is refused.
            max_connections: Connections at a time.
            ca_file: PEM file of the authorities that the service's certificate may be from, instead of the system's.
            headers: Sent with each request.

        Raises:
            OSError: The file cannot be read, or has no certificates in it.
        """
        self._max_body = max_body
        self._timeout = timeout
        self._client = httpx.AsyncClient(
            verify=ssl.create_default_context(cafile=None if ca_file is None else str(ca_file)),
            timeout=timeout,
            limits=httpx.Limits(max_connections=max_connections, max_keepalive_connections=max_connections),
            # Compression would let a small body grow past the bound after it was read.
            headers={"Accept": "application/json", "Accept-Encoding": "identity", **(headers or {})},
            follow_redirects=False,  # a redirect would carry a client's password to where nobody configured it
            trust_env=False,
        )

    async def get(self, url: str) -> HttpAnswer:
        """The answer to GET; HttpServiceError when there is none."""
        return await self._ask(self._client.build_request("GET", url))

    async def post_json(self, url: str, body: bytes) -> HttpAnswer:
        """The answer to POST of a JSON text; HttpServiceError when there is none."""
        headers = {"Content-Type": "application/json"}
        return await self._ask(self._client.build_request("POST", url, content=body, headers=headers))

    async def _ask(self, request: httpx.Request) -> HttpAnswer:
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._client.send(request, stream=True)
                try:
                    return HttpAnswer(response.status_code, await self._read(response))
                finally:
                    await response.aclose()
        except (TimeoutError, httpx.TimeoutException):
            raise HttpServiceError("it did not answer in time") from None
        except httpx.HTTPError as error:
            # Its text is the transport's, which knows addresses but neither headers nor bodies.
            raise HttpServiceError(f"{type(error).__name__}: {error}") from None

    async def _read(self, response: httpx.Response) -> bytes:
        if response.headers.get("Content-Encoding", "identity") != "identity":
            raise HttpServiceError("its answer is compressed, which was not asked for")
        body = bytearray()
        async for chunk in response.aiter_raw():
            body += chunk
            if len(body) > self._max_body:
                raise HttpServiceError(f"its answer has more than {self._max_body} bytes")
        return bytes(body)

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()
