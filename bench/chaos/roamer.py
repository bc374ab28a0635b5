"""A client id that comes and goes: one session, taken from gateway to gateway by one connection after the other."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from admin.demo.client import Client, ConnectionLostError, new_session
from admin.stack.gateway import MqttAddress
from edge.mqtt.packets import Connect, Publish
from edge.mqtt.properties import NO_PROPERTIES, Properties
from edge.mqtt.protocol import ProtocolVersion

_PATIENCE = 8.0
"""Seconds for a CONNACK, a SUBACK or a farewell; then the client tries elsewhere, as a gateway that is stopped gives
none."""
_EXPIRY = 86_400
"""Seconds for which a persistent session outlives its connection: longer than any run."""
_PAUSE = 0.3
"""Seconds before the next attempt to connect."""


@dataclass
class Visit:
    """One connection."""

    number: int
    """The how many-eth attempt it was."""
    gateway: str
    began_at: float
    session_present: bool
    ended_at: float | None = None
    end: str = ""
    """Who ended it and how."""


@dataclass(frozen=True)
class Habits:
    """How a client comes and goes."""

    stay: tuple[float, float]
    """Seconds that it stays connected, at least and at most."""
    away: tuple[float, float]
    """Seconds that it is away."""


@dataclass
class Run:
    """What all clients of a run share."""

    addresses: Sequence[MqttAddress]
    began_at: float = field(default_factory=time.monotonic)
    moves: int = 0
    """Grows with all that happens, so that standing still can be told."""
    is_settling: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when everybody is to stay where it is."""

    def now(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self.began_at


Arrived = Callable[[Client, bool], Awaitable[None]]
"""Told of each new connection, and whether the session was present. May raise ConnectionLostError or TimeoutError."""


class Roamer:
    """Keeps one client id connected, most of the time."""

    def __init__(
        self, run: Run, name: str, version: ProtocolVersion, choice: random.Random, *, is_persistent: bool,
        habits: Habits,
    ) -> None:  # fmt: skip
        self.name = name
        self.visits: list[Visit] = []
        self.ghosts: list[Client] = []
        """Connections that the client has lost touch with; a gateway has to end them."""
        self.sessions_lost: list[float] = []
        """When the gateway did not know a session that it should have known."""
        self.client: Client | None = None
        """The present connection."""
        self.is_in = asyncio.Event()
        """Set while there is one, all of whose preparations are done."""
        self.on_message: Callable[[Publish], None] = lambda _message: None
        self.on_arrival: Arrived = _nothing_to_do
        self._run = run
        self._version = version
        self._choice = choice
        self._is_persistent = is_persistent
        self._habits = habits
        self.attempts = 0
        """Connections so far, those included that came to nothing."""
        self._session = new_session()
        self._is_moving = asyncio.Event()

    async def roam(self) -> None:
        """Come and go; once the run settles, stay wherever it is."""
        avoided = ""
        while True:
            client = await self._come_in(avoided)
            visit = self.visits[-1]
            visit.end = await self._stay(client)
            visit.ended_at = self._run.now()
            avoided = visit.gateway if self._run.is_settling.is_set() else ""
            self.is_in.clear()
            self.client = None
            self._session = client.session
            if not self._run.is_settling.is_set() and visit.end != "took over":
                await asyncio.sleep(self._choice.uniform(*self._habits.away))

    def move(self) -> None:
        """Go to another gateway; `is_in` is set when it is there."""
        self.is_in.clear()
        self._is_moving.set()

    @property
    def unfinished(self) -> int:
        """Messages from the broker at QoS 2 whose PUBREL has not come."""
        return len(self.client.session.inbound) if self.client else 0

    async def _come_in(self, avoided: str) -> Client:
        while True:
            address = self._choice.choice([place for place in self._run.addresses if place.node != avoided])
            self.attempts += 1
            try:
                client = await asyncio.wait_for(self._connect(address), _PATIENCE)
            except (ConnectionLostError, OSError, TimeoutError):
                await asyncio.sleep(_PAUSE)
                continue
            present = client.connected.result().session_present
            if self._is_persistent and self.visits and not present:
                self.sessions_lost.append(self._run.now())
            self.visits.append(Visit(self.attempts, address.node, self._run.now(), present))
            try:
                await asyncio.wait_for(self.on_arrival(client, present), _PATIENCE)
            except (ConnectionLostError, TimeoutError):
                client.drop()
                self._session = client.session
                self.visits[-1].ended_at, self.visits[-1].end = self._run.now(), "came to nothing"
                continue
            self.client = client
            self._run.moves += 1
            self.is_in.set()
            return client

    def _connect(self, address: MqttAddress) -> Awaitable[Client]:
        is_v5 = self._version is ProtocolVersion.V5
        packet = Connect(
            self.name,
            self._version,
            clean_start=not self._is_persistent,
            # Some notice that their gateway stands still, others wait for it.
            keep_alive=self._choice.choice((0, 5)),
            properties=Properties(session_expiry_interval=_EXPIRY)
            if is_v5 and self._is_persistent
            else NO_PROPERTIES,
        )
        session = self._session if self._is_persistent else None
        return Client.connect(address.host, address.port, packet, self._take, session)

    def _take(self, message: Publish) -> None:
        self._run.moves += 1
        self.on_message(message)

    async def _stay(self, client: Client) -> str:
        """Stay until it is time to go, or the connection ends; returns how it ended."""
        moving = asyncio.ensure_future(self._is_moving.wait())
        settling = asyncio.ensure_future(self._run.is_settling.wait())
        try:
            stay = self._choice.uniform(*self._habits.stay)
            waiting: set[asyncio.Future[Any]] = {client.ended, moving, settling}
            await asyncio.wait(waiting, timeout=stay, return_when=asyncio.FIRST_COMPLETED)
            if settling.done():
                await asyncio.wait(waiting - {settling}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            moving.cancel()
            settling.cancel()
        if client.ended.done():
            reason = client.ended.result()
            return "ended by the gateway" + (f" ({reason:#04x})" if reason is not None else "")
        self._is_moving.clear()
        return await self._leave(client)

    async def _leave(self, client: Client) -> str:
        match self._choice.choice(("dropped", "said goodbye", "took over")):
            case "dropped":
                client.drop()
                await client.ended
                return "dropped"
            case "said goodbye":
                try:
                    await asyncio.wait_for(client.disconnect(), _PATIENCE)
                except TimeoutError:
                    client.drop()
                return "said goodbye"
        client.ignore()
        self.ghosts.append(client)
        return "took over"


async def _nothing_to_do(_client: Client, _present: bool) -> None:
    pass
