"""Rules: what a client may publish and subscribe to, and what no name that it gives itself changes."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity.answers import NO_RULES, Rules
from identity.errors import InvalidError
from identity.rules import MAX_PATTERNS, Permissions, check_rules, placeholders


def permissions(
    *patterns: str, client_id: str = "c", username: str | None = "u", publish: tuple[str, ...] | None = None
) -> Permissions:
    """Of a client with these patterns, for publishing too unless others are given."""
    return Permissions(Rules(patterns if publish is None else publish, patterns), client_id, username)


def test_nothing_said_allows_everything() -> None:
    client = Permissions(NO_RULES, "c", None)
    assert client.publish("a/b") == ".*"
    assert client.publish("$SYS/a") == ".*"
    assert client.subscribe("#") == ".*"


def test_an_empty_list_denies() -> None:
    client = Permissions(Rules((), ()), "c", None)
    assert client.publish("a") is None
    assert client.subscribe("a") is None


def test_one_list_says_nothing_of_the_other() -> None:
    client = Permissions(Rules(publish=("a",)), "c", None)
    assert client.publish("b") is None
    assert client.subscribe("b") == ".*"


def test_the_pattern_that_allows_is_told_as_it_was_written() -> None:
    client = permissions("a/.*", "b/${clientid}")
    assert client.publish("b/c") == "b/${clientid}"
    assert client.publish("b/c") == "b/${clientid}"
    assert client.publish("a/c") == "a/.*"
    assert client.publish("b/d") is None


def test_more_topics_than_are_remembered() -> None:
    client = permissions("a/.*")
    for turn in range(2):
        for number in range(1_000):
            assert client.publish(f"a/{number}") == "a/.*", turn
            assert client.publish(f"b/{number}") is None
    assert client.publish("a/" + "x" * 1_000) == "a/.*"
    assert 16 < len(client.published) <= 1_024


def test_clients_with_many_topics_share_the_room_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has few is remembered in any case, and who goes makes room."""
    monkeypatch.setattr(Permissions, "_room", 100)
    greedy, late, plain = permissions("a/.*"), permissions("a/.*"), permissions("a/.*")
    for client, topics, remembered in ((greedy, 200, 116), (late, 200, 16), (plain, 10, 10)):
        for number in range(topics):
            assert client.publish(f"a/{number}") == "a/.*"
        assert len(client.published) == remembered
    greedy.published.clear()
    del greedy, client
    for number in range(50):
        assert late.publish(f"a/{number}") == "a/.*"
    assert len(late.published) > 16, "there is room again"


def test_what_is_remembered_of_one_client_is_not_of_another() -> None:
    one, other = permissions("a/.*"), permissions("b/.*")
    for _ in range(2):
        for number in range(100):
            assert one.publish(f"a/{number}") == "a/.*"
            assert other.publish(f"a/{number}") is None
            assert other.publish(f"b/{number}") == "b/.*"


@pytest.mark.parametrize(
    ("topic", "allowed"),
    [
        ("$delayed/5/a/b", True),
        ("$delayed/5/b", False),
        ("$delayed/x/a/b", False),
        ("$delayed/5/$delayed/5/a/b", False),
        ("$delayed/5/a/+", False),
        ("$delayed/5/", False),
        ("$delayed/a/b", False),
    ],
)
def test_what_is_published_later_is_published(topic: str, allowed: bool) -> None:
    assert (permissions("a/.*").publish(topic) is not None) is allowed


def test_a_pattern_for_the_delay_itself_allows_no_other_topic() -> None:
    assert permissions(r"\$delayed/.*").publish("$delayed/5/a") is None


@pytest.mark.parametrize("before", ["", "$share/g/", "$queue/", "$exclusive/", "$share/g/$exclusive/"])
def test_the_filter_within_counts(before: str) -> None:
    client = permissions("a/.*")
    assert client.subscribe(f"{before}a/b") == "a/.*"
    assert client.subscribe(f"{before}a/#") == "a/.*"
    assert client.subscribe(f"{before}b") is None
    assert client.subscribe(f"{before}#") is None


@pytest.mark.parametrize(
    "filter",
    ["", "$share/a", "$share//a", "$share/g/", "$queue/", "$exclusive/", "a/#/b", "a\0", "$share/+/a"],
)
def test_what_is_no_filter_is_denied(filter: str) -> None:
    assert Permissions(NO_RULES, "c", None).subscribe(filter) is None


def test_a_group_cannot_carry_the_filter_that_a_pattern_wants() -> None:
    assert permissions(".*/a").subscribe("$share/a/b") is None
    assert permissions(r"\$share/a/.*").subscribe("$share/a/b") is None


class TestCraftedNames:
    """What a client cannot reach by calling itself something."""

    @pytest.mark.parametrize(
        "name",
        [
            "+",
            "#",
            "a/b",
            "victim/x",
            "/",
            "",
            "$SYS",
            "$share",
            "victim/#",
            "+/+",
            ".*",
            "[^/]+",
            "vi|victim",
            "VICTIM",
        ],
    )
    @pytest.mark.parametrize(
        "pattern", ["own/${username}/.*", "own/${clientid}/.*", "(?i)own/${username}/.*"]
    )
    def test_others_topics(self, pattern: str, name: str) -> None:
        client = permissions(pattern, client_id=name, username=name)
        for topic in ("own/victim/x", "own/victim/x/y", "own/a/b", "own//x", "own/a/b/c", "$SYS/x"):
            assert client.publish(topic) is None
            assert client.subscribe(topic) is None
        for filter in ("own/+/x", "own/#", "own/+/+", "#", "own/victim/#", "own/a/b/#", "$share/g/own/+/x"):
            assert client.subscribe(filter) is None

    @pytest.mark.parametrize("name", [".*", "[^x]", "a|b", "(", "x{2}", "é", "a b", "-", "\\", "a\nb", "名"])
    def test_odd_names_have_their_own(self, name: str) -> None:
        client = permissions("own/${username}/.*", username=name)
        assert client.publish(f"own/{name}/x") is not None
        assert client.subscribe(f"own/{name}/#") is not None

    def test_without_user_name(self) -> None:
        client = permissions("own/${username}/.*", "all/.*", username=None)
        assert client.publish("own//x") is None
        assert client.publish("own/None/x") is None
        assert client.publish("all/x") == "all/.*"

    @given(st.text(max_size=12), st.text(max_size=12))
    def test_any_name(self, name: str, level: str) -> None:
        client = permissions("own/${username}/x", username=name)
        topic = f"own/{level}/x"
        if client.publish(topic) is not None or client.subscribe(topic) is not None:
            assert level == name


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        (Rules(publish=("(",)), "cannot be read"),
        (Rules(subscribe=("a/${x}",)), "placeholders"),
        (Rules(publish=("a",) * (MAX_PATTERNS + 1)), "101 patterns"),
    ],
)
def test_rules_that_cannot_be(rules: Rules, said: str) -> None:
    with pytest.raises(InvalidError, match=said):
        check_rules(rules)


def test_rules_that_can_be() -> None:
    check_rules(NO_RULES)
    check_rules(Rules((), ("a/${clientid}",)))
    assert placeholders(Rules((), ("a/${clientid}",))) == {"${clientid}"}
