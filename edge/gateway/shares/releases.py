"""What a session that ends gives back to its share groups: what was sent to nobody, or may be sent again.

QoS 2 that was sent, whether PUBREC came or not, is never sent to another [MQTT-4.8.2-5]; QoS 1 is.
"""

from __future__ import annotations

from collections.abc import Iterator

from contracts import publish_record
from contracts.errors import RecordError
from contracts.persisted_record import Message
from edge.gateway.sessions.effects import Release
from edge.gateway.shares.backlogs import Backlogs


class Releases:
    """Reads what ended sessions were owed."""

    def __init__(self, backlogs: Backlogs) -> None:
        self._backlogs = backlogs

    def returned(self, release: Release) -> list[Message]:
        """The messages that go back to their groups, oldest first. The session's tombstones are durable by now.

        Raises:
            KafkaException, StoreUnavailableError, StaleStateError: They are not to be had.
        """
        return list(returned_of(release, self._backlogs.read(release.client_id)))

    def cancel(self) -> None:
        """Have what is being read fail soon; nothing is to be released any more."""
        self._backlogs.cancel()

    def close(self) -> None:
        """End, when nothing is being released."""
        self._backlogs.close()


def returned_of(release: Release, owed: list[Message]) -> Iterator[Message]:
    """Those of the owed messages that others may get."""
    granted = {subscription.filter: subscription.qos for subscription in release.subscriptions}
    for message in owed:
        try:
            published = publish_record.decode(message.topic.encode(), b"", message.headers).qos
        except RecordError:
            continue
        qos = min(published, granted.get(message.filter, 0))
        was_sent = release.sent is None or message.offset in release.sent
        if qos == 1 or (qos == 2 and not was_sent):
            yield message
