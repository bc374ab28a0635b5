"""`sluicemq status`: what it shows, and how it ends."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import replace

import pytest
from rich.console import Console
from typer.testing import CliRunner

from admin.cli import status
from admin.cli.main import app
from admin.cli.status_page import Page, number
from admin.cluster import cluster as cluster_module
from admin.cluster.cluster import ClusterSettings
from admin.cluster.nodes import nodes_of, router_of
from admin.cluster.overview import Overview, overview
from contracts.session_census import Census
from tests.admin.cluster.house import GATEWAY, NOW, ROUTER, PlayedParts


def shown(played: PlayedParts, width: int = 80) -> list[str]:
    """The page's lines."""
    page, view = Page(), played.states.view
    page.take(overview(view, Census(9, 2)), nodes_of(view), router_of(view))
    console = Console(width=width, record=True, file=io.StringIO())
    console.print(page.render(width))
    return console.export_text().splitlines()


def whole() -> PlayedParts:
    """A cluster where all is well."""
    played = PlayedParts()
    busy = replace(GATEWAY.messages, in_per_s=12_345.6)
    played.states.say(
        replace(GATEWAY, messages=busy, memory_bytes=300 << 20),
        played.other("gw2"),
        replace(ROUTER, rollovers=7),
    )
    return played


@pytest.mark.parametrize("width", [60, 80, 120])
def test_all_is_well(width: int) -> None:
    lines = shown(whole(), width)
    text = " ".join(" ".join(lines).split())
    for part in ("2 gateways", "all is well", "12.4 k messages/s", "4 connected of 9", "running, generation 4",
                 "p50 2 ms, p99 3 ms", "5 messages"):  # fmt: skip
        assert part in text, part
    assert max(map(len, lines)) <= width
    [row] = [line for line in lines if line.split()[:1] == ["gw1"]]
    assert "living" in row
    assert "12.3 k" in row
    assert ("300 MiB" in row) is (width >= 80)


def test_what_is_amiss_stands_out() -> None:
    played = whole()
    played.states.say(played.other("gw3"))
    played.states.clock.now += 50
    played.states.say(GATEWAY, replace(ROUTER, state="failed", last_failure="it \x1b[2J broke"))
    text = "\n".join(shown(played))
    assert "needs a look" in text
    assert "! gw3 has been silent for 50 s" in text
    assert "\x1b" not in text
    assert "50 s ago" in text


def test_numbers_are_short() -> None:
    assert [number(one) for one in (0, 0.25, 9.5, 10, 950.4, 9_999, 12_345, 1_234_567)] == [
        "0", "0.2", "9.5", "10", "950", "9999", "12.3 k", "1.23 M",
    ]  # fmt: skip


def run(played: PlayedParts, monkeypatch: pytest.MonkeyPatch, *options: str) -> tuple[int, str]:
    """Run the command on a played cluster."""

    def opened(settings: ClusterSettings) -> object:
        assert (settings.kafka, settings.topic_prefix) == ("k:1", "tbmq")
        return played.cluster

    monkeypatch.setattr(cluster_module, "ObservedCluster", opened)
    done = CliRunner().invoke(app, ["status", "--kafka", "k:1", *options])
    return done.exit_code, done.stdout


def test_once(monkeypatch: pytest.MonkeyPatch) -> None:
    exit_status, text = run(whole(), monkeypatch, "--once")
    assert exit_status == 0
    assert "all is well" in text


def test_json(monkeypatch: pytest.MonkeyPatch) -> None:
    played = whole()
    played.states.say(replace(ROUTER, state="failed"))
    exit_status, text = run(played, monkeypatch, "--json")
    assert exit_status == 1  # something is amiss
    found = json.loads(text)
    assert found["overview"]["nodes"]["living"] == 2
    assert found["overview"]["at_ms"] == round(1000 * NOW)
    assert [one["node"] for one in found["nodes"]] == ["gw1", "gw2"]
    assert found["router"]["state"] == "failed"


def test_live_until_it_is_interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    played, screen = whole(), io.StringIO()
    monkeypatch.setattr(status, "out", Console(file=screen, force_terminal=True, width=80))
    looks = iter([True, True, True])
    overview_now = played.cluster.overview

    def look() -> Overview:
        if next(looks, None) is None:
            raise KeyboardInterrupt
        played.states.say(
            replace(GATEWAY, connections=played.states.view.gateways()[0][0].connections + 1000)
        )
        return overview_now()

    monkeypatch.setattr(played.cluster, "overview", look)
    status._live(played.cluster, 0.01)
    shown_last = screen.getvalue()
    assert "3004 connected of 3004" in shown_last
    assert shown_last.endswith("\x1b[?25h\x1b[?1049l")  # the cursor and the screen are given back


def test_a_kafka_that_is_not_there() -> None:
    command = [
        sys.executable, "-c",
        "import admin.cluster.states as s; s._FIRST_LOOK_SECONDS = 3.0; from admin.cli.main import main; main()",
        "status", "--once", "--kafka", "127.0.0.1:1",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "127.0.0.1:1" in done.stderr
    assert "Traceback" not in done.stderr
