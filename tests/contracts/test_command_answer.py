"""Answers to administrators' commands: golden bytes, round trips, and what is none."""

from __future__ import annotations

import pytest

from contracts.command_answer import DONE, MOVED, CommandAnswer, decode, encode_key, encode_value
from contracts.errors import RecordError


@pytest.mark.parametrize("answer", [CommandAnswer("k1", DONE, (1, 0x83)), CommandAnswer("k2", MOVED)])
def test_an_answer_comes_back(answer: CommandAnswer) -> None:
    assert decode(encode_key(answer), encode_value(answer)) == answer


def test_golden_bytes() -> None:
    assert encode_key(CommandAnswer("k1", DONE)) == b"k1"
    assert encode_value(CommandAnswer("k1", DONE, (2,))) == b'{"outcome":"done","reasons":[2]}'


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, b'{"outcome":"done"}'),
        (b"\xff", b'{"outcome":"done"}'),
        (b"k", None),
        (b"k", b"[]"),
        (b"k", b'{"outcome":"well"}'),
        (b"k", b'{"outcome":["done"]}'),
        (b"k", b'{"outcome":"done","reasons":[true]}'),
        (b"k", b'{"outcome":"done","reasons":7}'),
    ],
)
def test_what_is_no_answer(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(RecordError):
        decode(key, value)
