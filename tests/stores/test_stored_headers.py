"""Stored headers: the text as documented, and any bytes come back."""

from hypothesis import given
from hypothesis import strategies as st

from stores import stored_headers


def test_golden() -> None:
    headers = [("qos", b"1"), ("user-property:k", "é".encode()), ("user-property:k", b"\0\xff"), ("x", None)]
    text = r'[["qos","1"],["user-property:k","\u00c3\u00a9"],["user-property:k","\u0000\u00ff"],["x",null]]'
    assert stored_headers.encode(headers) == text
    assert stored_headers.decode(text) == headers


@given(st.lists(st.tuples(st.text(), st.none() | st.binary())))
def test_what_is_written_is_read(headers: list[tuple[str, bytes | None]]) -> None:
    assert stored_headers.decode(stored_headers.encode(headers)) == headers
