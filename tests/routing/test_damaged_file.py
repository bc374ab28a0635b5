"""Which file of a checkpoint is damaged, told from the folder alone (P10)."""

from __future__ import annotations

from pathlib import Path

import pytest

from routing.checkpoints import damaged_file

OFFSETS = 'v1\n{"batchWatermarkMs":0}\n{"tbmq.msg.all":{"0":3,"1":4}}'
COMMIT = 'v1\n{"nextBatchWatermarkMs":0}'


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    """One that is whole, of a query whose second batch is under way."""
    for name in ("offsets", "commits"):
        (tmp_path / name).mkdir()
    (tmp_path / "metadata").write_text('{"id":"d0a6"}')
    for number in ("9", "10"):
        (tmp_path / "offsets" / number).write_text(OFFSETS)
    (tmp_path / "commits" / "9").write_text(COMMIT)
    (tmp_path / "commits" / ".10.4711.tmp").write_text("v1")
    return tmp_path


def test_a_whole_one(checkpoint: Path) -> None:
    assert damaged_file(checkpoint) is None
    (checkpoint / "offsets" / "10").write_text('v1\n{"batchWatermarkMs":0}\n-')
    assert damaged_file(checkpoint) is None


def test_none_yet(tmp_path: Path) -> None:
    assert damaged_file(tmp_path / "new") is None
    (tmp_path / "offsets").mkdir()
    (tmp_path / "offsets" / "0").write_text(OFFSETS)
    assert damaged_file(tmp_path) is None


@pytest.mark.parametrize("content", ["", "v1", "v2" + OFFSETS[2:], OFFSETS[:-1], OFFSETS[:26], "v1\n{}\n3"])
@pytest.mark.parametrize("number", ["9", "10"])
def test_offsets(checkpoint: Path, number: str, content: str) -> None:
    file = checkpoint / "offsets" / number
    file.write_text(content)
    assert damaged_file(checkpoint) == file


def test_a_hole(checkpoint: Path) -> None:
    (checkpoint / "offsets" / "9").unlink()
    assert damaged_file(checkpoint) == checkpoint / "offsets" / "9"


@pytest.mark.parametrize("content", ["", "v1", COMMIT[:-1]])
def test_a_commit(checkpoint: Path, content: str) -> None:
    file = checkpoint / "commits" / "9"
    file.write_text(content)
    assert damaged_file(checkpoint) == file


def test_the_metadata(checkpoint: Path) -> None:
    (checkpoint / "metadata").write_bytes(b"\xff")
    assert damaged_file(checkpoint) == checkpoint / "metadata"
