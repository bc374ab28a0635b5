"""Which gateways live, as the consumer group of the owners tells: each is a member of it, under `<node>:<boot>`.

A gateway is lost when Kafka has dropped it from the group (it missed its heartbeats for the session timeout) and it has
not come back within the grace; at once when its node has come back under another boot.
"""

from __future__ import annotations

import logging
from collections.abc import Collection

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from contracts.kafka_topics import DEFAULT_PREFIX
from edge.gateway.sessions.ownership import Process
from telemetry.librdkafka import QUIET

log = logging.getLogger(__name__)

GRACE = 1.0  # seconds; a member that lost touch for no fault of its own, as when Kafka moved the group, is back by then
_ANSWER = 5.0  # seconds for Kafka to tell the members


class Absences:
    """Decides who is lost from what the group looked like, over time. Pure."""

    def __init__(self, me: Process, grace: float = GRACE) -> None:
        self._me = me
        self._grace = grace
        self._since: dict[Process, float] = {}

    @property
    def is_anybody_absent(self) -> bool:
        """Whether a verdict is open, so that it is worth to look again soon."""
        return bool(self._since)

    def judge(self, members: Collection[Process], holders: Collection[Process], now: float) -> set[Process]:
        """The holders that are lost.

        Args:
            members: Who is in the group. A picture without ourselves is no evidence: the group is being set up anew.
            holders: Whose loss would matter.
            now: Seconds, on any clock that only goes on.
        """
        if self._me not in members:
            self._since.clear()
            return set()
        absent = {process for process in holders if process not in members}
        self._since = {process: self._since.get(process, now) for process in absent}
        returned = {node for node, _ in members}
        return {p for p in absent if p[0] in returned or now - self._since[p] >= self._grace}


def group_of(prefix: str) -> str:
    """The name of the owners' consumer group, one for each cluster that a Kafka serves."""
    return "sluicemq-sessions" if prefix == DEFAULT_PREFIX else f"sluicemq-sessions-{prefix}"


def member_name(process: Process) -> str:
    """The Kafka client id under which a gateway is a member."""
    return ":".join(process)


def members_of(kafka: str, group: str) -> set[Process]:
    """Who is in the group now; nobody when Kafka does not tell."""
    # describe_consumer_groups would be the newer way, but librdkafka ends the process when the connection to the
    # group's coordinator breaks while it asks (its issue 4605). A client of its own for each question, since one that
    # has seen Kafka restart goes on believing what it knew before.
    admin = AdminClient(QUIET | {"bootstrap.servers": kafka})
    try:
        groups = admin.list_groups(group, timeout=_ANSWER)
    except KafkaException as error:
        log.debug("the members of %s are not to be had: %s", group, error.args[0].str())
        return set()
    members = [member for described in groups for member in described.members]
    found = set()
    for member in members:
        node, _, boot = str(member.client_id).partition(":")
        found.add((node, boot))
    return found
