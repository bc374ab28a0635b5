"""Who may not connect, as a gateway asks at each CONNECT: in memory, and pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from identity.credentials import check_name
from identity.errors import InvalidError
from identity.patterns import check_pattern, matches


class Subject(StrEnum):
    """By what a client is recognised."""

    CLIENT_ID = "client-id"
    USERNAME = "username"
    ADDRESS = "address"


@dataclass(frozen=True, slots=True)
class Block:
    """One entry of the list."""

    subject: Subject
    value: str
    """A client id, a user name, an IP address; or a pattern that must match one of these as a whole."""
    is_pattern: bool = False
    reason: str = ""
    """For people."""
    expires_at_ms: int | None = None
    """Since 1970; None: never."""

    def is_over(self, now_ms: int) -> bool:
        """Whether it has expired."""
        return self.expires_at_ms is not None and self.expires_at_ms <= now_ms

    def checked(self) -> Block:
        """The same, with an address as `BlockList` compares it.

        Raises:
            InvalidError: It cannot be.
        """
        check_name(self.value, "value")
        if self.is_pattern:
            check_pattern(self.value, placeholders=False)
        elif self.subject is Subject.ADDRESS:
            address = plain_address(self.value)
            if address is None:
                raise InvalidError(
                    f"{self.value!r} is no IP address: write it as in 192.0.2.7, or give a pattern"
                )
            return Block(self.subject, address, False, self.reason, self.expires_at_ms)
        return self


class BlockList:
    """Entries, made ready for being asked."""

    def __init__(self, blocks: Iterable[Block]) -> None:
        """Of checked entries; expired ones may be among them."""
        self._exact: dict[tuple[Subject, str], Block] = {}
        self._patterns: list[Block] = []
        for block in blocks:
            if block.is_pattern:
                self._patterns.append(block)
            else:
                self._exact[block.subject, block.value] = block

    def __len__(self) -> int:
        return len(self._exact) + len(self._patterns)

    def find(self, client_id: str, username: str | None, address: str, now_ms: int) -> Block | None:
        """The entry that keeps a client out; None: it may go on. `address` without port."""
        names = {
            Subject.CLIENT_ID: client_id,
            Subject.USERNAME: username,
            Subject.ADDRESS: plain_address(address) or address,
        }
        for subject, name in names.items():
            if name is None:
                continue
            block = self._exact.get((subject, name))
            if block is not None and not block.is_over(now_ms):
                return block
        for block in self._patterns:
            name = names[block.subject]
            if name is not None and not block.is_over(now_ms) and matches(block.value, name):
                return block
        return None


def plain_address(text: str) -> str | None:
    """An IP address in its one form, IPv4 within IPv6 as IPv4; None for what is none."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)
