"""The QoS 2 messages that a client had under way when its connection ended, as the core goes on with them."""

from __future__ import annotations

from contracts.session_event import Granted
from edge.mqtt.inflight import Inbound, Session
from edge.mqtt.limits import ServerLimits


def inherited_flows(granted: Granted, limits: ServerLimits) -> Session | None:
    """The flows that a granted session goes on with; None when there are none.

    An exchange that is not confirmed is not there for the core: the client sends its PUBLISH again, and that is looked
    up from the exchange's floor on.
    """
    confirmed = [exchange for exchange in granted.inbound if exchange.state == "confirmed"]
    if not confirmed:
        return None
    session = Session(limits.maximum_queued, limits.maximum_queued_bytes)
    for exchange in confirmed:
        session.inbound.put(exchange.packet_id, Inbound.QOS_2_CONFIRMED)
    return session
