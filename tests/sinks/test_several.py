"""Which sinks are run side by side; that they write, tests/admin/stack/test_sink.py shows."""

from __future__ import annotations

import pytest

from sinks.running import RETRY_SECONDS
from sinks.several import parse_arguments

URLS = ("SLUICEMQ_STORE", "SLUICEMQ_MESSAGE_STORE", "SLUICEMQ_STATISTICS_STORE")
KAFKA = ["--kafka", "k:1"]


@pytest.fixture(autouse=True)
def no_urls(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in URLS:
        monkeypatch.delenv(name, raising=False)


def names(*arguments: str) -> list[str]:
    return [sink.name for sink in parse_arguments([*KAFKA, *arguments])[0]]


def test_what_is_named_is_run(monkeypatch: pytest.MonkeyPatch) -> None:
    assert names("--archive", "there") == ["sluicemq-archive"]
    monkeypatch.setenv("SLUICEMQ_STORE", "redis://there")
    assert names() == ["sluicemq-sink"]
    assert names("--message-store", "sqlite:///m", "--statistics-store", "sqlite:///s") == [
        "sluicemq-sink",
        "sluicemq-messages",
        "sluicemq-statistics",
    ]


def test_none_of_them_need_another_spark() -> None:
    arguments = ["--store", "s", "--archive", "a", "--message-store", "m", "--statistics-store", "s"]
    settings: dict[str, object] = {}
    for sink in parse_arguments([*KAFKA, *arguments])[0]:
        for name, value in sink.settings.items():
            assert settings.setdefault(name, value) == value


def test_what_gives_up_is_tried_again_where_they_run_on() -> None:
    assert parse_arguments([*KAFKA, "--archive", "a"])[2] == RETRY_SECONDS
    assert parse_arguments([*KAFKA, "--archive", "a", "--trigger", "available-now"])[2] is None


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "name what to run: --store, --archive"),
        (["--archive", "a", "--topic-prefix", "a b"], "prefix"),
    ],
)
def test_bad_arguments_are_told(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        parse_arguments([*KAFKA, *arguments])
    assert sentence in capsys.readouterr().err
