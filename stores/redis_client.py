"""Connections to Redis or Valkey by URL: one server, the master that sentinels name, or a cluster."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import redis
from redis.backoff import ExponentialBackoff
from redis.cluster import ClusterNode, RedisCluster
from redis.exceptions import RedisClusterException
from redis.retry import Retry
from redis.sentinel import Sentinel

from stores.errors import StoreUnavailableError, StoreUrlError

FAILURES = (redis.RedisError, RedisClusterException, OSError)
"""What the library raises when a server does not answer or refuses; the second is no kind of the first."""

_PORT, _SENTINEL_PORT = 6379, 26379
_TLS_OPTIONS = ("ssl_ca_certs", "ssl_certfile", "ssl_keyfile")
_SENTINEL_OPTIONS = ("sentinel_username", "sentinel_password")


def connect(url: str, shown_url: str) -> redis.Redis | RedisCluster:
    """A client that may be used from several threads, once the server answers.

    Raises:
        StoreUrlError: The URL is not of a form that `open_store` names.
        StoreUnavailableError: Nobody answers.
    """
    kind = url.partition("://")[0].lower().partition("+")[2]
    try:
        connecting = {"": _single, "sentinel": _master, "cluster": _cluster}
        client: redis.Redis | RedisCluster = connecting[kind](url)
        client.ping()
    except StoreUrlError:
        raise
    except FAILURES as error:
        raise StoreUnavailableError(shown_url, reason(error)) from error
    except ValueError as error:
        raise StoreUrlError(f"the store's URL {shown_url} cannot be read: {error}") from error
    return client


def reason(error: Exception) -> str:
    """What the library said, in its first line."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def _settings() -> dict[str, Any]:
    return {
        # A batch of large messages takes seconds to write at most; a server that is silent for longer is down.
        "socket_timeout": 10,
        "socket_connect_timeout": 5,
        # Twice more, soon: connections in the pool die with a server's restart. Longer outages are the caller's matter.
        "retry": Retry(ExponentialBackoff(cap=0.5, base=0.05), 2),
    }


def _single(url: str) -> redis.Redis | RedisCluster:
    return redis.Redis.from_url(url, **_settings())


def _master(url: str) -> redis.Redis | RedisCluster:
    hosts, path, login, options = _taken_apart(url, _SENTINEL_PORT, (*_TLS_OPTIONS, *_SENTINEL_OPTIONS))
    service, _, database = path.partition("/")
    if not service or not (database or "0").isdigit():
        raise StoreUrlError("a sentinel's URL ends with /service or /service/database: name the service")
    own = {name.removeprefix("sentinel_"): options.pop(name) for name in _SENTINEL_OPTIONS if name in options}
    settings = {**_settings(), **options}
    sentinels: Any = Sentinel  # the library gives no types here
    found = sentinels(hosts, sentinel_kwargs={**settings, **own}, **settings, **login)
    master: redis.Redis = found.master_for(service, db=int(database or 0))
    return master


def _cluster(url: str) -> redis.Redis | RedisCluster:
    hosts, path, login, options = _taken_apart(url, _PORT, _TLS_OPTIONS)
    if path:
        raise StoreUrlError("a cluster has no databases: end its URL after the hosts")
    node: Any = ClusterNode  # as above
    nodes = [node(host, port) for host, port in hosts]
    return RedisCluster(startup_nodes=nodes, **_settings(), **login, **options)


def _taken_apart(
    url: str, default_port: int, known: tuple[str, ...]
) -> tuple[list[tuple[str, int]], str, dict[str, Any], dict[str, Any]]:
    """Hosts, path, login, and the other settings of a URL that may name several hosts."""
    parts = urlsplit(url)
    login_text, _, hosts_text = parts.netloc.rpartition("@")
    user, _, password = login_text.partition(":")
    hosts = []
    for text in hosts_text.split(","):
        host, port = text, str(default_port)
        if ":" in text and not text.endswith("]"):  # [::1] has colons of its own
            host, _, port = text.rpartition(":")
        if not host or not port.isdigit():
            raise StoreUrlError(
                "the store's URL names a host that is not host:port: separate several with commas"
            )
        hosts.append((host.strip("[]"), int(port)))
    options: dict[str, Any] = dict(parse_qsl(parts.query))
    for name in options:
        if name not in known:
            raise StoreUrlError(f"the store's URL has the option {name}: there are {', '.join(known)}")
    if parts.scheme.startswith("rediss"):
        options["ssl"] = True
    login = {"username": unquote(user) or None, "password": unquote(password) or None}
    return hosts, parts.path.strip("/"), login, options
