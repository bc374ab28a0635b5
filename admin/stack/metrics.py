"""Where each part of a stack serves its metrics and health: on a free port of the loopback address."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from admin.stack.ports import LOOPBACK, free_ports
from admin.stack.supervisor import Part
from telemetry.addresses import http_url
from telemetry.settings import LISTEN_VARIABLE


class MetricsPorts:
    """A port for each part, for as long as the stack runs."""

    def __init__(self, parts: Iterable[str]) -> None:
        """Find them; `parts` are names."""
        names = list(parts)
        self._ports = dict(zip(names, free_ports(len(names)), strict=True))

    @property
    def urls(self) -> dict[str, str]:
        """By part, where its `/metrics` is."""
        return {name: f"{http_url((LOOPBACK, port))}/metrics" for name, port in self._ports.items()}

    def observed(self, part: Part) -> Part:
        """The part, told where to serve them."""
        address = f"{LOOPBACK}:{self._ports[part.name]}"
        return replace(part, environment={**part.environment, LISTEN_VARIABLE: address})
