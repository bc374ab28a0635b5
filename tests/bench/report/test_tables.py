"""Tables tell target, verdict, peers and ratios; a peer that is missing is told as such."""

from __future__ import annotations

import io

from rich.console import Console

from bench.figures import Figure, Result, at_least
from bench.report.tables import markdown, peer_value, peers_of, terminal_table, value, verdict

FAST = Figure("rate", 50_000.0, "msg/s", at_least(40_000), {"mosquitto": 200_000.0, "amqtt": None})
SLOW = Figure("rate", 30_000.0, "msg/s", at_least(40_000))
PLAIN = Figure("cpu", 12.5, "µs", peers={"other": 25.0}, note="of the gateway")


def test_verdicts() -> None:
    assert [verdict(figure) for figure in (FAST, SLOW, PLAIN)] == ["met", "NOT MET", ""]
    assert verdict(Figure("rate", None, "msg/s", at_least(1))) == "not measured"


def test_values_and_ratios() -> None:
    assert value(FAST) == "50,000 msg/s"
    assert value(Figure("lost", 0.0, "")) == "0"
    assert peer_value(FAST, "mosquitto") == "200,000 (0.25×)"
    assert peer_value(FAST, "amqtt") == "not installed"
    assert peer_value(FAST, "other") == ""
    assert peers_of([FAST, SLOW, PLAIN]) == ["mosquitto", "amqtt", "other"]


def test_markdown_has_a_row_a_figure() -> None:
    page = markdown([Result("ingest", "Ingest", [FAST, PLAIN])], "2 cores")
    assert "| rate | 50,000 msg/s | ≥ 40,000 | met | 200,000 (0.25×) | not installed |  |" in page
    assert "| cpu (of the gateway) | 12.5 µs |  |  |  |  | 25.0 (0.50×) |" in page
    assert page.startswith("# Bench\n\n2 cores.")


def test_terminal_table_shows_all_of_it() -> None:
    shown = io.StringIO()
    Console(file=shown, width=160).print(terminal_table(Result("ingest", "Ingest", [FAST, SLOW, PLAIN])))
    for text in ("Ingest", "NOT MET", "200,000 (0.25×)", "not installed", "of the gateway"):
        assert text in shown.getvalue()
