"""`sluicemq share` on a real Kafka, and its errors in one sentence."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest
from typer.testing import CliRunner

from admin.cli.main import app, main
from admin.kafka_topics import topic_administration
from contracts.kafka_topics import KafkaTopics
from tests.conftest import LiveKafka

run = CliRunner().invoke


@pytest.mark.parametrize("words", [[], ["create"], ["list"], ["remove"]])
def test_help(words: list[str]) -> None:
    assert run(app, ["share", *words, "--help"]).exit_code == 0


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
