"""Which of those who could get a message gets it: a strategy for each share group, named as EMQX names them.

A strategy knows no Kafka and no clock. What it remembers is no more than whose turn it is: when a transaction is rolled
back, its messages are chosen for anew, and whoever takes over a group begins with nothing.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from typing import Protocol, TypeVar

from contracts.topics import parse_share


class StrategyName(StrEnum):
    """What there is to choose from."""

    ROUND_ROBIN = "round_robin"
    """In turns over the group, whoever publishes."""
    RANDOM = "random"
    """Anybody, each as likely as any other."""
    HASH_CLIENTID = "hash_clientid"
    """What one client publishes goes to one member."""
    HASH_TOPIC = "hash_topic"
    """What is published on one topic goes to one member."""
    STICKY = "sticky"
    """All goes to one member, as long as that one is connected."""
    LOCAL = "local"
    """Any member on the gateway where it was published; where there is none, any at all."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a message comes from, as far as a strategy may look at that."""

    client_id: str = ""
    """The publisher; empty when it is no MQTT client."""
    topic: str = ""
    node: str = ""
    """The gateway that took it; empty when none did."""


UNKNOWN = Origin()


class Candidate(Protocol):
    """A member that could get a message."""

    @property
    def client_id(self) -> str:
        """Who."""

    @property
    def node(self) -> str:
        """The gateway that it is connected to."""


C = TypeVar("C", bound=Candidate)


class Strategy(Protocol):
    """Chooses for one group."""

    def choose(self, origin: Origin, candidates: Sequence[C], /) -> C:
        """One of the candidates, of whom there is at least one."""


class RoundRobin:
    """Whoever comes behind the one that was chosen last, though others come and go."""

    def __init__(self) -> None:
        self._last = ""

    def choose(self, _origin: Origin, candidates: Sequence[C], /) -> C:
        """See `Strategy`."""
        names = [candidate.client_id for candidate in candidates]
        turn = names.index(self._last) + 1 if self._last in names else 0
        chosen = candidates[turn % len(candidates)]
        self._last = chosen.client_id
        return chosen


class Random:
    """Anybody."""

    def choose(self, _origin: Origin, candidates: Sequence[C], /) -> C:
        """See `Strategy`."""
        return random.choice(candidates)  # noqa: S311 - nobody gains by guessing it  # nosec B311


class Hash:
    """Rendezvous hashing: each (key, member) has a weight, and the heaviest member of a key gets its messages.

    So all dispatchers choose alike, and when a member leaves, or comes, nothing moves but its own. It takes a good
    hash: with a checksum the weights would depend on each other, and some members would get far more than others.
    """

    def __init__(self, key: Callable[[Origin], str]) -> None:
        """Args: `key` is what messages for the same member have in common."""
        self._key = key

    def choose(self, origin: Origin, candidates: Sequence[C], /) -> C:
        """See `Strategy`."""
        key = blake2b(self._key(origin).encode(), digest_size=16).digest()

        def weight(candidate: C) -> tuple[bytes, str]:
            name = candidate.client_id
            return blake2b(name.encode(), digest_size=8, key=key).digest(), name

        return max(candidates, key=weight)


class Sticky:
    """The one that was chosen last; anybody, when that one is not there."""

    def __init__(self) -> None:
        self._last = ""
        self._random = Random()

    def choose(self, origin: Origin, candidates: Sequence[C], /) -> C:
        """See `Strategy`."""
        for candidate in candidates:
            if candidate.client_id == self._last:
                return candidate
        chosen = self._random.choose(origin, candidates)
        self._last = chosen.client_id
        return chosen


class Local:
    """Anybody on the gateway where the message was published.

    Not in turns: who is to choose from depends on the message, so turns could always pass over the same ones.
    """

    def __init__(self) -> None:
        self._random = Random()

    def choose(self, origin: Origin, candidates: Sequence[C], /) -> C:
        """See `Strategy`."""
        near = [candidate for candidate in candidates if candidate.node == origin.node]
        return self._random.choose(origin, near or candidates)


_MAKERS: Mapping[StrategyName, Callable[[], Strategy]] = {
    StrategyName.ROUND_ROBIN: RoundRobin,
    StrategyName.RANDOM: Random,
    StrategyName.HASH_CLIENTID: lambda: Hash(lambda origin: origin.client_id),
    StrategyName.HASH_TOPIC: lambda: Hash(lambda origin: origin.topic),
    StrategyName.STICKY: Sticky,
    StrategyName.LOCAL: Local,
}


@dataclass(frozen=True)
class Strategies:
    """Which group has which strategy."""

    default: StrategyName = StrategyName.ROUND_ROBIN
    """Of groups that are not named."""
    by_name: Mapping[str, StrategyName] = field(default_factory=dict)
    """By the `<group>` of `$share/<group>/<filter>`, whatever the filter."""

    def of(self, group: str) -> Strategy:
        """A strategy that remembers nothing yet, for a group (`$share/<group>/<filter>`)."""
        share = parse_share(group)
        name = self.default if share is None else self.by_name.get(share.group, self.default)
        return _MAKERS[name]()


def parse_strategy(text: str) -> StrategyName:
    """The strategy of that name.

    Raises:
        ValueError: There is none.
    """
    try:
        return StrategyName(text.strip())
    except ValueError:
        raise ValueError(
            f"{text.strip()!r} is no strategy of share groups: write one of {', '.join(StrategyName)}"
        ) from None


def parse_strategies(text: str) -> dict[str, StrategyName]:
    """Strategies by group name, from `group=strategy;group=strategy`; a name may hold `=`, but no `;`.

    Raises:
        ValueError: It is not of that form, a group is named twice, or no group can have the name.
    """
    found: dict[str, StrategyName] = {}
    for part in filter(None, map(str.strip, text.split(";"))):
        group, equals, strategy = part.rpartition("=")
        group = group.strip()
        if not equals or not group or set("/+#") & set(group):
            raise ValueError(
                f"strategy of a share group {part!r}: write group=strategy;group=strategy, the group as in "
                "$share/<group>/<filter>"
            )
        if group in found:
            raise ValueError(f"the share group {group!r} has two strategies: name it once")
        found[group] = parse_strategy(strategy)
    return found
