"""A session's subscription as a record: the gateway writes it, and whoever tells that a group's member is offline."""

from __future__ import annotations

from contracts import session_event
from contracts.application_shares import share_target
from contracts.kafka_topics import application_suffix
from contracts.subscription_record import APPLICATION_KIND, SubscriptionRecord
from contracts.topics import parse_share


def record_of(
    client_id: str, node: str, wanted: session_event.Subscription, kind: str, *, online: bool = True
) -> SubscriptionRecord:
    """The record of a subscription, shared or not; `kind` as contracts.subscription_record has it.

    Raises:
        TopicError: The filter begins like a shared one, and is none.
    """
    share = parse_share(wanted.filter)
    group, filter = (None, wanted.filter) if share is None else share
    target = None
    if kind == APPLICATION_KIND:
        target = application_suffix(client_id) if group is None else share_target(filter)
    return SubscriptionRecord(
        client_id=client_id,
        filter=filter,
        node=node,
        qos=wanted.qos,
        share_group=group,
        no_local=wanted.no_local,
        retain_as_published=wanted.retain_as_published,
        retain_handling=wanted.retain_handling,
        subscription_id=wanted.subscription_id,
        kind=kind,
        target=target,
        online=online,
    )
