"""Whose records are on their way into the log, and who hears when they are there."""

from __future__ import annotations

from typing import cast

import pytest
from confluent_kafka import KafkaError, Message

from edge.gateway.appender import Durable
from edge.gateway.records_under_way import RecordsUnderWay


class Setting:
    """Notes, in order, what is called back."""

    def __init__(self) -> None:
        self.under_way = RecordsUnderWay()
        self.heard: list[str] = []

    def begin(self, client_id: str) -> Durable:
        return self.under_way.begin(client_id, lambda *_: self.heard.append(f"{client_id}'s record"))

    def wait(self, client_id: str, name: str = "settled") -> None:
        self.under_way.when_none(client_id, lambda: self.heard.append(name))


def finish(durable: Durable, error: KafkaError | None = None) -> None:
    durable(error, cast(Message, None))


def test_nobody_waits_for_nothing() -> None:
    setting = Setting()
    setting.wait("c")
    assert setting.heard == ["settled"]


@pytest.mark.parametrize("error", [None, KafkaError(KafkaError._MSG_TIMED_OUT)], ids=str)
def test_the_last_record_wakes_all_who_wait_once(error: KafkaError | None) -> None:
    setting = Setting()
    records = [setting.begin("c"), setting.begin("c")]
    setting.wait("c", "first")
    setting.wait("c", "second")
    finish(records[1], error)
    assert setting.heard == ["c's record"]
    finish(records[0], error)
    assert setting.heard[1:] == ["c's record", "first", "second"]
    finish(setting.begin("c"))
    assert setting.heard[4:] == ["c's record"]


def test_clients_do_not_wait_for_one_another() -> None:
    setting = Setting()
    setting.begin("other")
    mine = setting.begin("c")
    setting.wait("c")
    finish(mine)
    assert setting.heard == ["c's record", "settled"]


def test_what_is_begun_by_who_was_woken_is_waited_for_anew() -> None:
    setting = Setting()
    first = setting.begin("c")
    later: list[Durable] = []

    def go_on() -> None:
        later.append(setting.begin("c"))
        setting.wait("c")

    setting.under_way.when_none("c", go_on)
    finish(first)
    assert setting.heard == ["c's record"]
    finish(later[0])
    assert setting.heard == ["c's record", "c's record", "settled"]
