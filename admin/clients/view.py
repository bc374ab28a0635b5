"""The view of the cluster: sessions, subscriptions and retained messages, in this process's memory."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from admin.clients.errors import NotReadyError
from admin.clients.following import UP, Entry, Following, Follows
from admin.clients.retained import RetainedMessages
from admin.clients.sessions import SessionsView
from admin.clients.subscriptions import SubscriptionsView
from contracts.kafka_topics import KafkaTopics
from contracts.wall_clock import epoch_ms


class ClusterView:
    """What is known of the cluster; read it within `reading`."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.sessions = SessionsView()
        self.subscriptions = SubscriptionsView()
        self.retained = RetainedMessages()
        self.follows: Follows
        """What feeds it."""

    @contextmanager
    def reading(self) -> Iterator[ClusterView]:
        """Nothing changes within.

        Raises:
            NotReadyError: It is not loaded yet, or Kafka does not answer, so that nobody knows what has changed.
        """
        standing = self.follows.standing()
        if standing.state != UP:
            raise NotReadyError(f"{standing.detail}: try again in a moment")
        with self.lock:
            self.retained.expire(epoch_ms())
            yield self

    def take_session(self, entry: Entry) -> None:
        """A record of `tbmq.client.session`."""
        self.sessions.take(entry.key, entry.value, entry.headers)

    def take_subscription(self, entry: Entry) -> None:
        """A record of `tbmq.client.subscriptions`."""
        self.subscriptions.take(entry.key, entry.value)

    def take_retained(self, entry: Entry) -> None:
        """A record of `tbmq.msg.retained`."""
        place = entry.partition, entry.offset
        self.retained.take(place, entry.at_ms, entry.key, entry.value, entry.headers, epoch_ms())


def follow_cluster(kafka: str, topics: KafkaTopics) -> tuple[ClusterView, Following]:
    """A view, and what feeds it once it is started."""
    view = ClusterView()
    views = {
        topics.sessions: view.take_session,
        topics.subscriptions: view.take_subscription,
        topics.retained: view.take_retained,
    }
    view.follows = following = Following(kafka, views, view.lock)
    return view, following
