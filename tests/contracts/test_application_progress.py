"""Offsets as ranges, and back; and removal records."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts import removal_record
from contracts.application_progress import NO_REPEATS, offsets_of, ranges_of
from contracts.errors import RecordError
from contracts.persisted_log import Repeats


def test_ranges() -> None:
    assert ranges_of([]) == ()
    assert ranges_of([3, 4, 5, 9, 11, 12]) == (3, 6, 9, 10, 11, 13)


@given(st.sets(st.integers(0, 60)))
def test_ranges_come_back(offsets: set[int]) -> None:
    assert list(offsets_of(ranges_of(sorted(offsets)))) == sorted(offsets)


def test_no_repeats() -> None:
    assert Repeats().to_json() == NO_REPEATS


def test_removals_come_back() -> None:
    assert removal_record.encode(7) == b'{"due_at_ms":7}'
    assert removal_record.decode("é".encode(), b'{"due_at_ms":7}') == ("é", 7)
    assert removal_record.decode(b"c", None) == ("c", None)


@pytest.mark.parametrize(
    ("key", "value"),
    [(b"\xff", None), (b"c", b""), (b"c", b"[]"), (b"c", b"{}"), (b"c", b'{"due_at_ms":"7"}'), (b"c", b"9")],
)
def test_what_is_no_removal(key: bytes, value: bytes | None) -> None:
    with pytest.raises(RecordError):
        removal_record.decode(key, value)
