"""`sluicemq share` on a real Kafka, and its errors in one sentence."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from admin.cli.main import app, main
from admin.kafka_topics import topic_administration
from admin.share_entities import compare
from contracts.kafka_topics import KafkaTopic, KafkaTopics
from identity.shared_subscriptions import SharedSubscription
from tests.admin.cli.identity_command import Command, Result
from tests.conftest import LiveKafka

run = CliRunner().invoke


@pytest.mark.parametrize("words", [[], ["create"], ["list"], ["mend"], ["remove"]])
def test_help(words: list[str]) -> None:
    shown = run(app, ["share", *words, "--help"])
    assert shown.exit_code == 0
    assert "$share//" not in shown.output  # a word in <> would be taken for markup


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["$share/g/a"], "names a group"),
        (["$queue/a"], "names a group"),
        (["a/#/b"], "# must be the last level"),
        (["a", "--topic-prefix", "a b"], "prefix"),
        (["a", "--properties", "x"], "topic property"),
    ],
)
def test_what_cannot_be(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], error: str
) -> None:
    monkeypatch.setattr(sys, "argv", ["sluicemq", "share", "create", "--kafka", "127.0.0.1:1", *arguments])
    with pytest.raises(SystemExit):
        main()
    shown = capsys.readouterr().err
    assert error in shown
    assert shown.count("\n") == 1


NAMES = KafkaTopics("p")
HASHED = NAMES.application_share("a_b")


def test_kafka_and_a_database_compared() -> None:
    topics = [
        KafkaTopic(NAMES.application_share("both"), 3),
        KafkaTopic(NAMES.application_share("more"), 6),
        KafkaTopic(NAMES.application_share("kafka/+"), 2),
        KafkaTopic(HASHED, 2),
    ]
    stored = [SharedSubscription("both", 3), SharedSubscription("more", 4), SharedSubscription("x_y", 5)]
    found = {one.filter: (one.partitions, one.difference) for one in compare(NAMES, topics, stored)}
    assert found == {
        "both": (3, ""),
        "more": (6, "4 partitions in the database"),
        "kafka/+": (2, "not in the database"),
        None: (2, "not in the database"),
        "x_y": (5, "no Kafka topic"),
    }
    [named] = compare(NAMES, topics[3:], [SharedSubscription("a_b", 2)])
    assert (named.filter, named.difference) == ("a_b", "")


@pytest.mark.live
def test_create_list_remove(kafka: LiveKafka, unique: Callable[[str], str]) -> None:
    prefix = unique("share")
    where = ["--kafka", kafka.bootstrap, "--topic-prefix", prefix]
    wanted = KafkaTopics(prefix).of_application_share("a/+/#", 3, {"retention.ms": "5000"})
    made = ["share", "create", "a/+/#", *where, "--partitions", "3", "--properties", "retention.ms:5000"]
    assert run(app, made).exit_code == 0
    assert run(app, made).exit_code == 0
    assert run(app, ["share", "create", "a_b", *where]).exit_code == 0
    with topic_administration(kafka.bootstrap) as administration:
        assert administration.existing([wanted.name]) == [wanted]
    listed = run(app, ["share", "list", *where]).output
    assert "a/+/#" in listed
    assert KafkaTopics(prefix).application_share("a_b")[:20] in listed
    assert run(app, ["share", "remove", "a/+/#", *where]).exit_code == 0
    assert "a/+/#" not in run(app, ["share", "list", *where]).output
    assert run(app, ["share", "remove", "a/+/#", *where]).exit_code == 1


class Sharing:
    """`sluicemq share` with a database, on Kafka topics under a prefix of the test's own."""

    def __init__(self, command: Command, kafka: LiveKafka, prefix: str) -> None:
        self.names = KafkaTopics(prefix)
        self.where = ["--kafka", kafka.bootstrap, "--topic-prefix", prefix]
        self.kafka = kafka
        self.command = command

    def __call__(self, line: str) -> Result:
        """Run it; it must succeed."""
        return self.command.works(f"share {line}", *self.where)

    def listed(self) -> dict[str, tuple[str, str]]:
        """Filter → partitions, and what is amiss."""
        rows = [line.split("│") for line in self("list").out.splitlines() if line.startswith("│")]
        return {row[1].strip(): (row[2].strip(), row[4].strip()) for row in rows}

    def make_topic(self, filter: str, partitions: int) -> None:
        """Make its Kafka topic alone."""
        with topic_administration(self.kafka.bootstrap) as administration:
            administration.create([self.names.of_application_share(filter, partitions)])

    def lose_topic(self, filter: str) -> None:
        """Remove its Kafka topic alone, if it is there, and wait until the broker tells of it no more."""
        name = self.names.application_share(filter)
        with topic_administration(self.kafka.bootstrap) as administration:
            administration.remove(name)
            while administration.existing([name]):
                pass


@pytest.fixture
def share(sluicemq: Command, kafka: LiveKafka, unique: Callable[[str], str]) -> Sharing:
    return Sharing(sluicemq, kafka, unique("share"))


@pytest.mark.live
def test_what_differs_is_told_and_mended(share: Sharing) -> None:
    share("create a/+ --partitions 3")
    share("create a_b --partitions 2")
    assert share.listed() == {"a/+": ("3", ""), "a_b": ("2", "")}  # the name of a_b's topic is a hash
    assert "agree" in share("mend").err
    share.make_topic("late", 5)
    share.make_topic("l_t", 1)
    share.lose_topic("a/+")
    assert share.listed() == {
        "a/+": ("3", "no Kafka topic"),
        "a_b": ("2", ""),
        "late": ("5", "not in the database"),
        "?": ("1", "not in the database"),
    }
    assert "share mend" in share("list").err
    told = share.command("share mend", *share.where)
    assert (told.status, "hash" in told.err) == (1, True)
    share("create l_t")
    assert share.listed() == {"a/+": ("3", ""), "a_b": ("2", ""), "late": ("5", ""), "l_t": ("1", "")}
    assert "no database" in share.command.without_database().fails("share mend", *share.where, status=2)
    assert share.command("share list", *share.where).out.count("?") == 2


@pytest.mark.live
def test_creating_and_removing_what_stands_in_one_of_the_two(share: Sharing) -> None:
    share("create a --partitions 3")
    assert "3 partitions, not 2, and keeps them" in share("create a --partitions 2").err
    share.lose_topic("a")
    share("create a")  # with the partitions that the database has
    assert share.listed() == {"a": ("3", "")}
    share.lose_topic("a")
    assert "where it had 3" in share("create a --partitions 2").err
    assert share.listed() == {"a": ("2", "")}
    share.lose_topic("a")
    share("remove a")
    share.make_topic("b", 1)
    share("remove b")
    share.lose_topic("b")
    assert share.command("share remove b", *share.where).status == 1
    assert share.listed() == {}
