"""A commit looks at the members once more: what was chosen for somebody who has left is taken back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
from confluent_kafka import Producer

from contracts.kafka_topics import KafkaTopics
from contracts.subscription_record import DEVICE_KIND, SubscriptionRecord
from edge.gateway.shares import commits as module
from edge.gateway.shares.commits import Commits, MembersChangedError
from edge.gateway.shares.dispatch import Dispatch
from edge.gateway.shares.groups import ShareGroups
from edge.gateway.shares.partition import DispatchedPartition
from edge.gateway.shares.strategies import Strategies
from edge.gateway.shares.view import ShareView
from tests.edge.gateway.shares.test_dispatch import G, message

TOPICS = KafkaTopics("p")


class Recorder:
    """A producer that tells what it was asked."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.records: list[tuple[str, bytes]] = []

    def produce(self, topic: str, _value: bytes, key: bytes, *_: Any, **__: Any) -> None:
        self.records.append((topic, key))

    def flush(self, _seconds: float) -> int:
        self.said.append("flush")
        return 0

    def begin_transaction(self) -> None:
        self.said.append("begin")
        self.records.clear()

    def abort_transaction(self, _seconds: float) -> None:
        self.said.append("abort")

    def send_offsets_to_transaction(self, offsets: list[Any], _group: object, _seconds: float) -> None:
        self.said.append(f"offsets {[(one.partition, one.offset) for one in offsets]}")

    def commit_transaction(self, _seconds: float) -> None:
        self.said.append("commit")


class View:
    """A view whose members change as it catches up."""

    def __init__(self) -> None:
        self.groups = ShareGroups()
        self.news: list[Callable[[], None]] = []

    def catch_up(self) -> None:
        if self.news:
            self.news.pop(0)()


def joined(client_id: str, online: bool = True) -> SubscriptionRecord:
    return SubscriptionRecord(client_id, "t", "n", 1, "g", kind=DEVICE_KIND, online=online)


@pytest.fixture
def view() -> View:
    return View()


@pytest.fixture
def commits(view: View, monkeypatch: pytest.MonkeyPatch) -> Commits:
    monkeypatch.setattr(module, "create_topics", lambda *_: None)
    return Commits("nowhere", TOPICS, cast(ShareView, view))


@pytest.fixture
def partition() -> DispatchedPartition:
    made = DispatchedPartition("nowhere", TOPICS, 3, Strategies())
    made.dispatch = Dispatch()
    made.dispatch.take(0, b"", message())
    made.producer = cast(Producer, Recorder())
    return made


@pytest.mark.parametrize("news", ["left", "offline", "nothing"])
def test_what_was_chosen_must_still_hold(
    view: View, commits: Commits, partition: DispatchedPartition, news: str
) -> None:
    view.groups.put(joined("a"))
    view.groups.put(joined("b"))
    dispatch, recorder = partition.dispatch, cast(Recorder, partition.producer)
    chosen = dispatch.plan(view.groups.members)
    [name] = [write.member.client_id for write in chosen if hasattr(write, "member")]
    change = {
        "left": lambda: view.groups.remove(name, G),
        "offline": lambda: view.groups.put(joined(name, False)),
    }
    view.news = [change.get(news, lambda: None)]
    if news == "nothing":
        commits.commit(partition, [(partition, chosen)], None)
        assert recorder.said == ["begin", "flush", "offsets [(3, 1)]", "commit"]
        assert recorder.records == [("p.msg.persisted", name.encode()), ("p.msg.shared.state", b"3")]
        return
    with pytest.raises(MembersChangedError):
        commits.commit(partition, [(partition, chosen)], None)
    assert recorder.said == ["begin", "flush", "abort"]
    dispatch.undo()
    commits.commit(partition, [(partition, dispatch.plan(view.groups.members))], None)
    [other] = {"a", "b"} - {name}
    assert recorder.records[0] == ("p.msg.persisted", other.encode())


def test_nobody_chosen_needs_no_second_look(
    commits: Commits, partition: DispatchedPartition, view: View
) -> None:
    view.groups.put(joined("a", online=False))
    commits.commit(partition, [(partition, partition.dispatch.plan(view.groups.members))], None)
    recorder = cast(Recorder, partition.producer)
    assert recorder.said == ["begin", "offsets [(3, 1)]", "commit"]
    assert recorder.records == [
        ("p.msg.shared.state", f"3\0{G}".encode()), ("p.msg.persisted", G.encode()), ("p.msg.shared.state", b"3"),
    ]  # fmt: skip
