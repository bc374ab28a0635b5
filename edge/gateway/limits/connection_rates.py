"""How many connections may be opened in a time, on this gateway and from one address. Pure: who asks tells the time."""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from edge.gateway.limits.keyed_rates import KeyedRates
from edge.gateway.limits.rate import Rate, Window

_NETWORK = 64  # bits of an IPv6 address that are one subscriber's; the others a host chooses as it likes


class ConnectionRates:
    """Of all listeners of a gateway together."""

    def __init__(self, all_together: Sequence[Window], of_address: Sequence[Window]) -> None:
        """Args: what is empty is not limited."""
        self._all = Rate(all_together)
        self._of_address = KeyedRates(of_address) if of_address else None

    def wait(self, now: float) -> float:
        """Seconds until one more may be accepted; 0 if it may now."""
        return self._all.wait(now)

    def accepted(self, now: float) -> None:
        """One more was."""
        self._all.spend(now)

    def may_come(self, host: str, now: float) -> bool:
        """Whether one more may come from an address; it counts if it may."""
        if self._of_address is None:
            return True
        rate = self._of_address.of(origin_of(host), now)
        is_allowed = rate.allows(now)
        if is_allowed:
            rate.spend(now)
        return is_allowed


def origin_of(host: str) -> str:
    """Whose an address is: itself, or the network of an IPv6 address; what is no address stands for itself."""
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), _NETWORK), strict=False))
