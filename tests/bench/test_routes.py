"""The filters that benches fill the subscription table with."""

from __future__ import annotations

from bench.routes import _value_around, mixed_filters
from contracts.subscription_record import SubscriptionRecord, encode_value
from contracts.topics import shape_of, validate_filter


def test_filters_are_distinct_valid_and_of_few_shapes() -> None:
    filters = list(mixed_filters(2_000))
    assert len(set(filters)) == 2_000
    for filter in filters:
        validate_filter(filter)
    assert len({shape_of(filter) for filter in filters}) == 3  # none, +, #


def test_records_are_as_the_contract_has_them() -> None:
    before, after = _value_around("n1")
    for filter in mixed_filters(20):
        assert before + filter.encode() + after == encode_value(SubscriptionRecord("c", filter, "n1"))
