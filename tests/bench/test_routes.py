"""The filters that benches fill the subscription table with."""

from __future__ import annotations

from bench.routes import mixed_filters
from contracts.topics import shape_of, validate_filter


def test_filters_are_distinct_valid_and_of_few_shapes() -> None:
    filters = list(mixed_filters(2_000))
    assert len(set(filters)) == 2_000
    for filter in filters:
        validate_filter(filter)
    assert len({shape_of(filter) for filter in filters}) == 3  # none, +, #
