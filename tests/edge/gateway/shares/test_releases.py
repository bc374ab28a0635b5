"""What goes back to a group when a member's session ends."""

from __future__ import annotations

import pytest

from contracts.persisted_record import Message
from contracts.session_event import Subscription
from edge.gateway.sessions.effects import Release
from edge.gateway.shares.releases import returned_of

GROUP = "$share/g/t"


def owed(offset: int, qos: int, filter: str = GROUP) -> Message:
    return Message(offset, "c", 1_000_000, offset, "t", filter, b"", [("qos", b"%d" % qos)])


@pytest.mark.mqtt(v5="4.8.2-5")
@pytest.mark.parametrize(
    ("published", "granted", "sent", "is_returned"),
    [
        (1, 2, (), True),
        (1, 2, (5,), True),
        (2, 1, (5,), True),
        (2, 2, (), True),
        (2, 2, (5,), False),
        (2, 2, None, False),
        (1, 1, None, True),
        (1, 0, (), False),
    ],
)
def test_what_others_may_get(
    published: int, granted: int, sent: tuple[int, ...] | None, is_returned: bool
) -> None:
    """QoS 2 that may have been sent is nobody else's [MQTT-4.8.2-5]."""
    release = Release("c", (Subscription(GROUP, granted),), sent)
    assert bool(list(returned_of(release, [owed(5, published)]))) is is_returned


def test_only_messages_of_its_groups() -> None:
    release = Release("c", (Subscription(GROUP, 1),), ())
    messages = [owed(1, 1, "t"), owed(2, 1), owed(3, 1, "$share/other/t")]
    assert [message.offset for message in returned_of(release, messages)] == [2]
