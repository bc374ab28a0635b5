"""`sluicemq messages` on a message store."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path

import pytest

from admin.cli.main import main
from stores.messages import ArrivedMessage, MessageStore


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/messages.db"
    payloads = [b"21.5", b"[bold]22", b"\xff\x00", b"x" * 100, b"\x1b[31m"]
    with closing(MessageStore(url)) as store:
        store.write(0, None, 5, [
            ArrivedMessage(offset, 1_700_000_000_000 + offset, f"room/{offset % 2}", "c", 1, [], payload)
            for offset, payload in enumerate(payloads)
        ])  # fmt: skip
    return url


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["sluicemq", "messages", *words])
    with pytest.raises(SystemExit) as ended:
        main()
    return int(ended.value.code or 0)


def test_table(url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("SLUICEMQ_MESSAGE_STORE", url)
    assert run(monkeypatch, "room/#", "--from", "2023-11-14T00:00") == 0
    shown = capsys.readouterr().out
    for text in ("room/0", "2023-11-14 22:13:20Z", "21.5", "[bold]22", "ff 00", "(100 bytes)", r"\x1b[31m"):
        assert text in shown
    assert "\x1b" not in shown


def test_range(url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    words = (
        "room/0",
        "--database",
        url,
        "--from-offset",
        "2",
        "--to-offset",
        "4",
        "--newest",
        "--limit",
        "1",
    )
    assert run(monkeypatch, *words) == 0
    shown = capsys.readouterr().out
    assert r"\x1b[31m" in shown
    assert "21.5" not in shown
    assert run(monkeypatch, "room/0", "--database", url, "--to", "2000d") == 0
    assert "21.5" not in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["a/#/b"], "must be the last level"),
        (["a", "--from", "yesterday"], "is no time"),
        (["a", "--database", "redis://x"], "must begin with sqlite:/// or postgresql://"),
    ],
)
def test_what_cannot_be_is_told(
    url: str,
    words: list[str],
    sentence: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("SLUICEMQ_MESSAGE_STORE", url)
    assert run(monkeypatch, *words) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())
