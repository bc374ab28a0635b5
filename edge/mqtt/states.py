"""The states of a connection, and which packet may arrive in which.

Theory
------
A connection has two halves that know of one another only through packets. Each half is in one state; a packet that the
table below does not list for that state is a protocol error of the peer (0x82), whatever its content.

The server's half::

    AWAITING_CONNECT ──CONNECT──► AWAITING_ACCEPT ──accept()──► CONNECTED ──┐
            │                          │ ▲                                  │ DISCONNECT, fault, end of file,
            │            CONNECT with  ▼ │ (no such way back)               │ keep alive, disconnect()
            │              method: AUTHENTICATING ──accept()──► CONNECTED   │
            └──fault, timeout──► CLOSED ◄──refuse(), fault──────────────────┘

* In AWAITING_ACCEPT the application makes up its mind (it asks Kafka, perhaps another node). The client may send on
  before it has its CONNACK, so what arrives is held, unread and bounded, until ``accept()``. An empty set says so.
* In AUTHENTICATING a client that named an authentication method may send AUTH and DISCONNECT alone [MQTT-3.1.2-30].
* CLOSED is final: what still arrives is dropped, and commands do nothing.

The client's half is AWAITING_CONNACK until CONNACK, then CONNECTED, then CLOSED.

Inside CONNECTED run independent flows, one a packet identifier; ``inflight`` has them.

This module must never know bytes, time or sessions.
"""

from enum import Enum, auto

from edge.mqtt.protocol import PacketType as P


class Side(Enum):
    """Which half of the connection this is."""

    SERVER = auto()
    CLIENT = auto()


class State(Enum):
    """Where a half stands."""

    AWAITING_CONNECT = auto()
    """Server: nothing came yet."""
    AWAITING_ACCEPT = auto()
    """Server: CONNECT came, the application has not answered."""
    AUTHENTICATING = auto()
    """Server: the same, with an exchange of AUTH packets under way."""
    AWAITING_CONNACK = auto()
    """Client: CONNECT is sent."""
    CONNECTED = auto()
    """Both: CONNACK with success went over."""
    CLOSED = auto()
    """Both: over."""


_BOTH_WAYS = (P.PUBLISH, P.PUBACK, P.PUBREC, P.PUBREL, P.PUBCOMP, P.DISCONNECT, P.AUTH)

RECEIVABLE: dict[tuple[Side, State], frozenset[P]] = {
    (Side.SERVER, State.AWAITING_CONNECT): frozenset({P.CONNECT}),  # [MQTT-3.1.0-1]
    (Side.SERVER, State.AWAITING_ACCEPT): frozenset(),
    (Side.SERVER, State.AUTHENTICATING): frozenset({P.AUTH, P.DISCONNECT}),  # [MQTT-3.1.2-30]
    (Side.SERVER, State.CONNECTED): frozenset(  # a second CONNECT is an error [MQTT-3.1.0-2]
        {*_BOTH_WAYS, P.SUBSCRIBE, P.UNSUBSCRIBE, P.PINGREQ}
    ),
    (Side.SERVER, State.CLOSED): frozenset(),
    (Side.CLIENT, State.AWAITING_CONNACK): frozenset({P.CONNACK, P.AUTH}),  # [MQTT-3.2.0-1]
    (Side.CLIENT, State.CONNECTED): frozenset({*_BOTH_WAYS, P.SUBACK, P.UNSUBACK, P.PINGRESP}),
    (Side.CLIENT, State.CLOSED): frozenset(),
}
"""What may arrive; an empty set means that nothing is read."""

RECEIVABLE_BITS: dict[tuple[Side, State], int] = {
    key: sum(1 << kind for kind in kinds) for key, kinds in RECEIVABLE.items()
}
"""The same as one number, bit n for packet type n: a shift and a mask is what a packet can afford."""
