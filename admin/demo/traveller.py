"""A client whose session outlives its connections: it goes offline, comes back elsewhere, and loses its gateway."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from admin.demo.client import Client, ConnectionLostError, OnMessage, new_session
from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import Connect, Subscription
from edge.mqtt.properties import Properties
from edge.mqtt.protocol import ProtocolVersion

_EXPIRY = 3_600
"""Seconds for which its session outlives a connection: longer than any replay."""
_PATIENCE = 20.0
"""Seconds for a CONNACK before it asks again; after a gateway was killed its clients must wait up to nine."""
_PAUSE = 0.3


@dataclass(frozen=True)
class Stage:
    """What happens when so much of the replay is published."""

    published: int
    """Messages."""
    gateway: MqttAddress | None
    """Where the client is from then on; None: nowhere."""
    told: str
    """What to tell people."""
    first: Callable[[], object] | None = None
    """Done before: it kills the gateway where the client is."""


class Milestones:
    """How much is published, for those who wait for it."""

    def __init__(self) -> None:
        self.published = 0
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    def tell(self, published: int) -> None:
        """So many messages are published."""
        self.published = published
        for number, future in self._waiting:
            if number <= published and not future.done():
                future.set_result(None)

    async def reached(self, published: int) -> None:
        """Wait until so many messages are published."""
        if self.published < published:
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append((published, future))
            await future


class Traveller:
    """The client: a DEVICE, or an APPLICATION where the gateways know its name for one."""

    def __init__(self, name: str, filter: str, qos: int, on_message: OnMessage) -> None:
        self.client: Client | None = None
        """Its connection, as long as it has one."""
        self._packet = Connect(
            name,
            ProtocolVersion.V5,
            clean_start=False,
            properties=Properties(session_expiry_interval=_EXPIRY),
        )
        self._subscription = Subscription(filter, qos)
        self._on_message = on_message
        self._session = new_session()

    async def begin(self, gateway: MqttAddress) -> None:
        """Connect for the first time, and subscribe, once and for all."""
        await self._connect(gateway)
        assert self.client is not None  # noqa: S101 - it is connected
        await self.client.subscribe(self._subscription)

    async def travel(
        self, stages: Sequence[Stage], milestones: Milestones, tell: Callable[[str], None]
    ) -> None:
        """Go through all stages; each waits for its milestone."""
        for stage in stages:
            await milestones.reached(stage.published)
            tell(stage.told)
            client = self.client
            if client is not None:
                if stage.first:
                    stage.first()
                else:
                    client.drop()
                await client.ended
                self._session, self.client = client.session, None
            if stage.gateway is not None:
                await self._connect(stage.gateway)

    async def _connect(self, gateway: MqttAddress) -> None:
        while self.client is None:
            try:
                self.client = await asyncio.wait_for(
                    Client.connect(gateway.host, gateway.port, self._packet, self._on_message, self._session),
                    _PATIENCE,
                )
            except (ConnectionLostError, OSError, TimeoutError):
                await asyncio.sleep(_PAUSE)
