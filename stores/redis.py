"""A store in Redis or Valkey: alone, behind sentinels, or a cluster.

A client's messages are a stream whose ids are the log's offsets: Redis keeps them in order, reads all of them in one
command, and drops the oldest by itself. All keys of one Kafka partition share a hash tag, so a cluster holds them
together and a batch is one script. Keys: docs/persistence.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from itertools import islice
from threading import Lock
from typing import Any

import redis
from redis.cluster import RedisCluster

from contracts.persisted_log import ClientChanges, PartitionBatch, Position, join_repeats, split_repeats
from stores import redis_client, stored_headers
from stores.errors import StalePositionError, StoreUnavailableError
from stores.port import DEFAULT_LIMITS, ClientBacklog, Limits, StoreCounts, StoredMessage, WaitingCounts

_WRITE = (files("stores") / "write_batch.lua").read_text()
_DROP_EXPIRED = (files("stores") / "drop_expired.lua").read_text()
_COUNT_WAITING = (files("stores") / "count_waiting.lua").read_text()
_NONE = "-"
"""What stands for no offset in a script's arguments and answers."""
_SCAN_COUNT = 1_000  # keys a round trip; small enough not to hold a server up


class RedisStore:
    """The store in Redis. `open_store` makes one."""

    def __init__(
        self,
        client: redis.Redis | RedisCluster,
        shown_url: str,
        prefix: str,
        limits: Limits = DEFAULT_LIMITS,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`shown_url` has no password; `prefix` opens each key; `clock` gives seconds since 1970."""
        self._client: Any = client
        # As Redis gives it: the library would make a dictionary of each entry.
        client.set_response_callback("XRANGE", lambda reply, **_: reply)
        self._shown_url = shown_url
        self._prefix = prefix
        self._limits = limits
        self._clock = clock
        self._operations = 0
        self._lock = Lock()

    @property
    def operations(self) -> int:
        """Commands issued, those within scripts too."""
        return self._operations

    def partition_position(self, partition: int) -> Position | None:
        """See the port."""
        with self._reaching():
            pipeline = self._client.pipeline(transaction=True)
            pipeline.hmget(self._key(partition, "position"), "next", "marks")
            pipeline.execute_command("HGETALL", self._key(partition, "seen"))
            (next_offset, marks), seen = pipeline.execute()
        self._issued(2)
        return _position(
            next_offset, marks, {client.decode(): line.decode() for client, line in seen.items()}
        )

    def write(self, partition: int, batch: PartitionBatch) -> int:
        """See the port. One round trip; the script's run holds the server up, some 10 µs a message."""
        keys = [self._key(partition, "position"), self._key(partition, "seen")]
        marks, seen = split_repeats(batch.position.repeats)
        begins = _NONE if batch.begins is None else batch.begins
        arguments: list[Any] = [begins, batch.position.next_offset, marks, int(self._clock() * 1000)]
        arguments += [self._limits.ttl_seconds * 1000, self._limits.messages, len(seen)]
        for line in seen.items():
            arguments += line
        for client_id, changes in batch.clients.items():
            keys += [self._key(partition, "messages", client_id), self._key(partition, "received", client_id)]
            arguments += _arguments(changes)
        with self._reaching():
            outcome, *details = self._client.eval(_WRITE, len(keys), *keys, *arguments)
        if outcome == b"written":
            dropped, commands = details
            self._issued(commands)
            return int(dropped)
        self._issued(1)
        stands = None if details[0] == _NONE.encode() else int(details[0])
        if stands == batch.position.next_offset:
            return 0  # an answer that was lost on the way: what the log has up to there is in
        raise StalePositionError(partition, batch.begins, stands)

    def backlog(self, partition: int, client_id: str) -> ClientBacklog:
        """See the port. One round trip."""
        with self._reaching():
            pipeline = self._client.pipeline(transaction=True)
            pipeline.hmget(self._key(partition, "position"), "next", "marks")
            pipeline.hget(self._key(partition, "seen"), client_id)
            pipeline.execute_command("ZRANGE", self._key(partition, "received", client_id), 0, -1)
            pipeline.execute_command("XRANGE", self._key(partition, "messages", client_id), "-", "+")
            (next_offset, marks), line, received, entries = pipeline.execute()
        self._issued(4)
        since = self._since_ms()
        messages = [
            StoredMessage(int(id[:-2]), value, headers.decode())  # an id ends in "-1"
            for id, (_, at, _, headers, _, value) in entries
            if int(at) >= since
        ]
        seen = {} if line is None else {client_id: line.decode()}
        return ClientBacklog(
            messages, {int(offset) for offset in received}, _position(next_offset, marks, seen)
        )

    def waiting(self, partition: int, client_id: str) -> WaitingCounts:
        """See the port. One round trip."""
        keys = [self._key(partition, "position")]
        keys += [self._key(partition, name, client_id) for name in ("messages", "received")]
        with self._reaching():
            messages, received, next_offset, commands = self._client.eval(
                _COUNT_WAITING, len(keys), *keys, self._since_ms()
            )
        self._issued(commands)
        return WaitingCounts(messages, received, None if next_offset == _NONE.encode() else int(next_offset))

    def drop_expired(self) -> int:
        """See the port. Redis itself drops clients that nothing was added for; this is for the others' oldest."""
        before, gone = int(self._since_ms()), 0
        with self._reaching():
            for key in self._scan("messages"):
                dropped, commands = self._client.eval(_DROP_EXPIRED, 1, key, before)
                self._issued(commands)
                gone += dropped
        return gone

    def counts(self) -> StoreCounts:
        """See the port."""
        clients = messages = dropped = 0
        with self._reaching():
            for keys in _chunks(self._scan("messages")):
                pipeline = self._client.pipeline(transaction=False)
                for key in keys:
                    pipeline.execute_command("XLEN", key)
                lengths = pipeline.execute()
                clients += sum(length > 0 for length in lengths)
                messages += sum(lengths)
                self._issued(len(keys))
            for key in self._scan("position"):
                dropped += int(self._client.hget(key, "dropped") or 0)
                self._issued(1)
        return StoreCounts(clients, messages, dropped)

    def close(self) -> None:
        """See the port."""
        self._client.close()

    def _since_ms(self) -> float:
        """Messages that were stored before this are past their TTL."""
        return (self._clock() - self._limits.ttl_seconds) * 1000

    def _key(self, partition: int, *names: str) -> str:
        return ":".join((self._prefix, f"{{p{partition}}}", *names))

    def _scan(self, name: str) -> Iterator[bytes]:
        """All keys of a kind. A client id may hold anything, so the pattern alone does not tell."""
        found: set[bytes] = set()
        for key in self._client.scan_iter(match=f"{self._prefix}:{{p*}}:{name}*", count=_SCAN_COUNT):
            if key.split(b":", 3)[2] == name.encode() and key not in found:  # a scan may give a key twice
                found.add(key)
                yield key

    def _issued(self, commands: int) -> None:
        with self._lock:
            self._operations += commands

    @contextmanager
    def _reaching(self) -> Iterator[None]:
        try:
            yield
        except redis_client.FAILURES as error:
            raise StoreUnavailableError(self._shown_url, redis_client.reason(error)) from error


def _chunks(keys: Iterator[bytes]) -> Iterator[list[bytes]]:
    while chunk := list(islice(keys, _SCAN_COUNT)):
        yield chunk


def _arguments(changes: ClientChanges) -> list[Any]:
    arguments: list[Any] = [_NONE if changes.cleared is None else changes.cleared]
    arguments += [len(changes.deleted), *changes.deleted, len(changes.received), *changes.received]
    arguments.append(len(changes.added))
    for offset, message in changes.added.items():
        arguments += (offset, stored_headers.encode(message.headers), message.value)
    return arguments


def _position(next_offset: bytes | None, marks: bytes | None, seen: dict[str, str]) -> Position | None:
    if next_offset is None or marks is None:
        return None
    return Position(int(next_offset), join_repeats(marks.decode(), seen))
