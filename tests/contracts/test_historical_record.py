"""Gateways' counters: golden bytes, and what is not of the form."""

import pytest

from contracts import historical_record
from contracts.errors import RecordError
from contracts.historical_record import HistoricalRecord


def test_golden_bytes() -> None:
    record = HistoricalRecord("gw1", 1_700_000_000_000, {"publishes": 5, "connections_now": 2})
    key, value = historical_record.encode(record)
    assert (key, value) == (
        b"gw1", b'{"at_ms":1700000000000,"counters":{"publishes":5,"connections_now":2}}',
    )  # fmt: skip
    assert historical_record.decode(key, value) == record


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b'{"at_ms":1,"counters":{}}'),
        (b"\xff", b'{"at_ms":1,"counters":{}}'),
        (b"n\0", b'{"at_ms":1,"counters":{}}'),
        (b"n", None),
        (b"n", b"[]"),
        (b"n", b'{"at_ms":1}'),
        (b"n", b'{"at_ms":1.5,"counters":{}}'),
        (b"n", b'{"at_ms":-1,"counters":{}}'),
        (b"n", b'{"at_ms":true,"counters":{}}'),
        (b"n", b'{"at_ms":1,"counters":[]}'),
        (b"n", b'{"at_ms":1,"counters":{"a":"1"}}'),
        (b"n", b'{"at_ms":1,"counters":{"a":9223372036854775808}}'),
        (b"n", b'{"at_ms":1,"counters":{"a\\u0000":1}}'),
        (b"n", b"[" * 100_000),
    ],
)
def test_other_forms_are_refused(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(RecordError):
        historical_record.decode(key, value)
