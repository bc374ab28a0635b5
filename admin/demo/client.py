"""An MQTT client for the demo: a thin asyncio shell around the sans-I/O core, as the gateway's is on the other side."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, cast

from admin.errors import AdminError
from edge.mqtt.client import ClientConnection, ClientLimits
from edge.mqtt.errors import LocalProtocolError
from edge.mqtt.events import (
    ConnAckReceived,
    ConnectionEnded,
    DeliveryCompleted,
    DeliveryOutcome,
    PingRespReceived,
    PublishReceived,
    SubAckReceived,
    UnsubAckReceived,
)
from edge.mqtt.inflight import Session
from edge.mqtt.message import OutgoingMessage
from edge.mqtt.packets import ConnAck, Connect, Publish, Subscription
from edge.mqtt.properties import NO_PROPERTIES, Properties

OnMessage = Callable[[Publish], None]

_LIMITS = ClientLimits(confirms_at_once=True)


class ConnectionLostError(AdminError):
    """A gateway refused or ended the connection."""


def new_session() -> Session:
    """No flows yet, of a session that is to outlive its connections: for the first of them."""
    return Session(_LIMITS.maximum_queued, _LIMITS.maximum_queued_bytes)


class Client(asyncio.Protocol):
    """A client; get a connected one from `connect`. Messages are acknowledged as they come, and go to `on_message`.

    With a session, what it has published and seen no acknowledgement of does not fail with the connection: the next one
    that is given the same session sends it again, and the futures are done when that is acknowledged.
    """

    def __init__(self, connect: Connect, on_message: OnMessage, session: Session | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._core = ClientConnection(connect, _LIMITS, session=session, now=self._loop.time())
        self._goes_on = session is not None
        self._is_deaf = False
        self._on_message = on_message
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._waiting: dict[int, asyncio.Future[tuple[int, ...]]] = {}
        self._published: set[asyncio.Future[int]] = set()
        self._pings: list[asyncio.Future[None]] = []
        self._name = connect.client_id
        self.connected: asyncio.Future[ConnAck] = self._loop.create_future()
        """Done when the gateway has let the client in."""
        self.ended: asyncio.Future[int | None] = self._loop.create_future()
        """Done when the connection is over, with the reason code if there is one."""

    @classmethod
    async def connect(
        cls,
        host: str,
        port: int,
        packet: Connect,
        on_message: OnMessage = lambda _message: None,
        session: Session | None = None,
    ) -> Client:
        """Connect, and wait for the CONNACK; whoever gives up waiting leaves no connection behind.

        Raises:
            ConnectionLostError: The client was refused.
            OSError: Nothing listens there.
        """
        loop = asyncio.get_running_loop()
        _, client = await loop.create_connection(lambda: cls(packet, on_message, session), host, port)
        try:
            await client.connected
        except asyncio.CancelledError:
            client.drop()
            raise
        return client

    @property
    def session(self) -> Session:
        """The flows under way, for the session's next connection."""
        return self._core.session

    async def subscribe(
        self, *subscriptions: Subscription, properties: Properties = NO_PROPERTIES
    ) -> tuple[int, ...]:
        """Subscribe, and wait for the SUBACK's reason codes.

        Raises:
            ConnectionLostError: The connection is over.
        """
        return await self._asked(lambda: self._core.subscribe(subscriptions, properties))

    async def unsubscribe(self, *filters: str) -> tuple[int, ...]:
        """Unsubscribe, and wait for the UNSUBACK's reason codes.

        Raises:
            ConnectionLostError: The connection is over.
        """
        return await self._asked(lambda: self._core.unsubscribe(filters))

    async def _asked(self, ask: Callable[[], int]) -> tuple[int, ...]:
        try:
            packet_id = ask()
        except LocalProtocolError as error:  # it ended since the caller looked
            raise ConnectionLostError(f"{self._name} could not ask: {error}.") from None
        return await self._answer(packet_id)

    def publish(
        self,
        topic: str,
        payload: bytes = b"",
        qos: int = 0,
        retain: bool = False,
        properties: Properties = NO_PROPERTIES,
    ) -> asyncio.Future[int]:
        """Publish; the result is the reason code of the acknowledgement, at QoS 0 the 0 that is there at once.

        Raises:
            ConnectionLostError: The connection is over, or the message too large for the gateway.
        """
        done: asyncio.Future[int] = self._loop.create_future()
        outcome = self._core.deliver(OutgoingMessage(topic, payload, properties, tag=done), qos, retain)
        if outcome not in (DeliveryOutcome.SENT, DeliveryOutcome.QUEUED):
            raise ConnectionLostError(f"{self._name} could not publish on {topic} ({outcome.value}).")
        if qos:
            self._published.add(done)
        else:
            done.set_result(0)
        self._flush()
        return done

    async def ping(self) -> None:
        """Send PINGREQ, and wait for a PINGRESP."""
        pong: asyncio.Future[None] = self._loop.create_future()
        self._pings.append(pong)
        self._core.ping(self._loop.time())
        self._flush()
        await pong

    async def disconnect(self) -> None:
        """Say DISCONNECT, and wait for the end."""
        self._core.disconnect()
        self._react()
        await self.ended

    def drop(self) -> None:
        """Cut the connection without a word."""
        if self._transport:
            self._transport.abort()

    def ignore(self) -> None:
        """Take no notice of what comes any more, but of the end: what a client is to a network that has lost it."""
        self._is_deaf = True

    def pause_reading(self) -> None:
        """Read nothing more from the socket until `resume_reading`."""
        if self._transport:
            self._transport.pause_reading()

    def resume_reading(self) -> None:
        """Read again."""
        if self._transport:
            self._transport.resume_reading()

    # asyncio's side

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Send the CONNECT."""
        self._transport = cast(asyncio.Transport, transport)
        self._flush()

    def data_received(self, data: bytes) -> None:
        """Bytes came."""
        if self._is_deaf:
            return
        self._core.receive_data(data, self._loop.time())
        self._react()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """The connection is gone; how makes no difference."""
        self._core.receive_eof(self._loop.time())
        self._transport = None
        self._react()
        if self._timer:
            self._timer.cancel()
        if not self.ended.done():
            self.ended.set_result(None)

    async def _answer(self, packet_id: int) -> tuple[int, ...]:
        answer: asyncio.Future[tuple[int, ...]] = self._loop.create_future()
        self._waiting[packet_id] = answer
        self._flush()
        return await answer

    def _react(self) -> None:
        for event in self._core.events_received():
            handle = _HANDLERS.get(type(event))
            if handle:
                handle(self, event)
        self._flush()

    def _flush(self) -> None:
        if self._transport is None:
            return
        if frames := self._core.data_to_send():
            self._transport.write(b"".join(frames))
        if self._core.close_wanted:
            self._transport.close()

    def _watch_deadline(self) -> None:
        now = self._loop.time()
        self._core.handle_timeout(now)
        self._react()
        deadline = self._core.deadline()
        if deadline is not None and self._transport is not None:
            self._timer = self._loop.call_at(max(deadline, now + 0.1), self._watch_deadline)

    def _on_connack(self, event: ConnAckReceived) -> None:
        if not self.connected.done():  # whoever waited may have been cancelled
            self.connected.set_result(event.packet)
        self._watch_deadline()

    def _on_publish(self, event: PublishReceived) -> None:
        self._on_message(event.packet)

    def _on_suback(self, event: SubAckReceived | UnsubAckReceived) -> None:
        answer = self._waiting.pop(event.packet.packet_id)
        if not answer.done():  # whoever waited may have been cancelled
            answer.set_result(tuple(event.packet.reason_codes))

    def _on_completed(self, event: DeliveryCompleted) -> None:
        done = cast("asyncio.Future[int]", event.message.tag)
        self._published.discard(done)
        if not done.done():
            done.set_result(event.reason_code)

    def _on_pingresp(self, _event: PingRespReceived) -> None:
        for pong in self._pings:
            if not pong.done():
                pong.set_result(None)
        self._pings.clear()

    def _on_ended(self, event: ConnectionEnded) -> None:
        reason = "" if event.reason_code is None else f" (reason {event.reason_code:#04x})"
        waiting: list[asyncio.Future[Any]] = [*self._waiting.values(), *self._pings]
        if not self._goes_on:
            waiting += self._published
        if not self.connected.done():
            waiting.append(self.connected)
        for future in waiting:
            if not future.done():
                future.set_exception(
                    ConnectionLostError(f"The gateway ended {self._name}'s connection{reason}.")
                )
                future.exception()  # Whoever does not wait for this one has not missed anything.
        if not self.ended.done():
            self.ended.set_result(event.reason_code)


_HANDLERS: dict[type, Callable[[Client, Any], None]] = {
    ConnAckReceived: Client._on_connack,
    PublishReceived: Client._on_publish,
    SubAckReceived: Client._on_suback,
    UnsubAckReceived: Client._on_suback,
    DeliveryCompleted: Client._on_completed,
    PingRespReceived: Client._on_pingresp,
    ConnectionEnded: Client._on_ended,
}
