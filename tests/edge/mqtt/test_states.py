"""The state table against the packets' directions in the standard (table 2-1)."""

from edge.mqtt.client import ClientConnection
from edge.mqtt.protocol import PacketType as P
from edge.mqtt.server import ServerConnection
from edge.mqtt.states import RECEIVABLE, RECEIVABLE_BITS, Side, State

FROM_SERVER_ALONE = {P.CONNACK, P.SUBACK, P.UNSUBACK, P.PINGRESP}
FROM_CLIENT_ALONE = {P.CONNECT, P.SUBSCRIBE, P.UNSUBSCRIBE, P.PINGREQ}


def test_each_side_receives_what_the_other_may_send() -> None:
    for (side, _state), kinds in RECEIVABLE.items():
        assert not kinds & (FROM_SERVER_ALONE if side is Side.SERVER else FROM_CLIENT_ALONE)


def test_bits_say_the_same() -> None:
    for key, kinds in RECEIVABLE.items():
        assert {kind for kind in P if RECEIVABLE_BITS[key] >> kind & 1} == kinds


def test_every_receivable_packet_has_its_handler_and_no_other() -> None:
    for side, connection in ((Side.SERVER, ServerConnection), (Side.CLIENT, ClientConnection)):
        receivable = {kind for (key, _), kinds in RECEIVABLE.items() if key is side for kind in kinds}
        assert set(connection._handlers) == receivable


def test_nothing_is_received_when_closed() -> None:
    assert RECEIVABLE_BITS[Side.SERVER, State.CLOSED] == RECEIVABLE_BITS[Side.CLIENT, State.CLOSED] == 0
