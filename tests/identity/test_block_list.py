"""Who is kept out by a list of blocked clients."""

from __future__ import annotations

import pytest

from identity.block_list import Block, BlockList, Subject, plain_address
from identity.errors import InvalidError

ID, USER, ADDRESS = Subject.CLIENT_ID, Subject.USERNAME, Subject.ADDRESS


def found(block: Block, client_id: str = "c", username: str | None = "u", address: str = "192.0.2.7") -> bool:
    """Whether a list of one entry keeps a client out."""
    blocks = BlockList([block.checked()])
    assert len(blocks) == 1
    return blocks.find(client_id, username, address, 1_000) is not None


@pytest.mark.parametrize(
    ("block", "kept_out"),
    [
        (Block(ID, "c"), True),
        (Block(ID, "u"), False),
        (Block(USER, "u"), True),
        (Block(ADDRESS, "192.0.2.7"), True),
        (Block(ADDRESS, "::ffff:192.0.2.7"), True),
        (Block(ADDRESS, "192.0.2.8"), False),
        (Block(ID, "."), False),
        (Block(ID, ".", is_pattern=True), True),
        (Block(ID, "", is_pattern=False, reason="x"), None),
        (Block(USER, "[a-u]", is_pattern=True), True),
        (Block(ADDRESS, r"192\.0\..*", is_pattern=True), True),
        (Block(ADDRESS, r"92\.0\..*", is_pattern=True), False),
        (Block(ID, "c", expires_at_ms=1_001), True),
        (Block(ID, "c", expires_at_ms=1_000), False),
        (Block(ID, "c", is_pattern=True, expires_at_ms=1_000), False),
    ],
)
def test_who_is_kept_out(block: Block, kept_out: bool | None) -> None:
    if kept_out is None:
        with pytest.raises(InvalidError, match="empty"):
            block.checked()
    else:
        assert found(block) is kept_out


def test_without_user_name() -> None:
    assert not found(Block(USER, ".*", is_pattern=True), username=None)
    assert not found(Block(USER, "None"), username=None)


def test_addresses_have_one_form() -> None:
    assert found(Block(ADDRESS, "2001:DB8:0::1"), address="2001:db8::1")
    assert found(Block(ADDRESS, "192.0.2.7"), address="::ffff:192.0.2.7")
    assert plain_address("localhost") is None
    assert not found(Block(ADDRESS, "::1"), address="a unix socket")


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (Block(ADDRESS, "192.0.2"), "no IP address"),
        (Block(ADDRESS, "192.0.2.0/24"), "no IP address"),
        (Block(ID, "(", is_pattern=True), "cannot be read"),
        (Block(ID, "${clientid}", is_pattern=True), "no meaning here"),
        (Block(ID, "a\0"), r"U\+0000"),
        (Block(ID, "a\ud800"), "UTF-8"),
    ],
)
def test_what_cannot_be(block: Block, said: str) -> None:
    with pytest.raises(InvalidError, match=said):
        block.checked()


def test_an_exact_entry_before_a_pattern() -> None:
    blocks = BlockList([Block(ID, ".*", is_pattern=True, reason="all"), Block(USER, "u", reason="this one")])
    kept_out = blocks.find("c", "u", "a", 0)
    assert kept_out is not None
    assert kept_out.reason == "this one"
