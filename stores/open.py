"""Opens a store by its URL. Libraries are imported when a URL needs them: a gateway on Redis never loads SQLAlchemy."""

from __future__ import annotations

import time
from collections.abc import Callable
from urllib.parse import urlsplit, urlunsplit

from contracts.kafka_topics import DEFAULT_PREFIX
from stores.errors import StoreUrlError
from stores.port import DEFAULT_LIMITS, Limits, Store

REDIS_SCHEMES = (
    "redis", "rediss", "redis+sentinel", "rediss+sentinel", "redis+cluster", "rediss+cluster",
)  # fmt: skip
SQL_SCHEMES = ("sqlite", "postgresql", "postgresql+psycopg")


def open_store(
    url: str,
    *,
    prefix: str = DEFAULT_PREFIX,
    limits: Limits = DEFAULT_LIMITS,
    clock: Callable[[], float] = time.time,
) -> Store:
    """Open a store, once it answers. A database's tables are made, or brought up to date, if need be.

    Args:
        url: `redis://[user:password@]host[:port][/database]`, `rediss://…` with TLS;
            `redis+sentinel://[user:password@]host[:port],host…/service[/database]`;
            `redis+cluster://[user:password@]host[:port],host…`; `sqlite:///file` (four slashes for an absolute path);
            `postgresql://[user:password@]host[:port]/database`.
        prefix: Opens each key in Redis; the Kafka topics' prefix, so that two brokers can share one Redis.
        limits: What is kept at most.
        clock: Seconds since 1970; a test's own.

    Raises:
        StoreUrlError: The URL does not name a store that there is.
        StoreUnavailableError: It does not answer.
    """
    scheme = require_known_scheme(url)
    if scheme in REDIS_SCHEMES:
        from stores.redis import RedisStore
        from stores.redis_client import connect

        return RedisStore(connect(url, shown(url)), shown(url), prefix, limits, clock)
    from stores.sql import SqlStore
    from stores.sql_engine import create

    return SqlStore(create(url, shown(url)), shown(url), limits, clock)


def require_known_scheme(url: str) -> str:
    """What a store's URL begins with, looked at before anything is opened.

    Raises:
        StoreUrlError: There is no such store.
    """
    scheme = url.partition("://")[0].lower()
    if scheme not in (*REDIS_SCHEMES, *SQL_SCHEMES):
        raise StoreUrlError(
            f"the store's URL begins with {scheme[:40]!r}: write one of "
            f"{', '.join(f'{one}://' for one in (*REDIS_SCHEMES, *SQL_SCHEMES))}"
        )
    return scheme


def shown(url: str) -> str:
    """A URL as logs and errors may show it: without password and options, which may hold one too."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url.partition("://")[0] + "://…"
    login, at, hosts = parts.netloc.rpartition("@")
    user, colon, _ = login.partition(":")
    netloc = f"{user}{':***' if colon else ''}{at}{hosts}"
    if parts.scheme == "sqlite":  # urlunsplit would take slashes away from an empty host
        return f"sqlite://{netloc}{parts.path}"
    return urlunsplit((parts.scheme, netloc, parts.path, "", ""))
