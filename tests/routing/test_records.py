"""How records are written."""

from __future__ import annotations

from routing.records import sink_options


def test_no_record_is_given_up() -> None:
    """A producer that gives one up sends the next: a hole that is filled later looks to consumers like repeats (I4)."""
    assert sink_options("kafka:9092")["kafka.delivery.timeout.ms"] == "2147483647"


def test_no_record_overtakes_another() -> None:
    """Batches that are sent again come in the same order only if no later one is under way (I4)."""
    assert sink_options("kafka:9092")["kafka.max.in.flight.requests.per.connection"] == "1"
