"""Results as tables: for the terminal while the run goes on, and as Markdown. Pure; nothing is printed here."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from bench.brokers import OURS
from bench.figures import Figure, Result, number


def verdict(figure: Figure) -> str:
    """Whether the target is met: `met`, `NOT MET`, or empty where there is none."""
    if figure.target is None:
        return ""
    return {True: "met", False: "NOT MET", None: "not measured"}[figure.is_met]


def value(figure: Figure) -> str:
    """The figure's value with its unit."""
    return "—" if figure.value is None else f"{number(figure.value)} {figure.unit}".rstrip()


def peer_value(figure: Figure, peer: str) -> str:
    """A peer's value and, in brackets, ours divided by it."""
    if peer not in figure.peers:
        return ""
    theirs = figure.peers[peer]
    if theirs is None:
        return "not installed"
    ratio = figure.ratio(peer)
    return number(theirs) if ratio is None else f"{number(theirs)} ({number(ratio)}×)"


def peers_of(figures: Sequence[Figure]) -> list[str]:
    """All peers that figures name, in the order in which they first do."""
    return list(dict.fromkeys(peer for figure in figures for peer in figure.peers))


def terminal_table(result: Result) -> Table:
    """One bench for the terminal."""
    table = Table(title=result.title, title_justify="left", caption_justify="left")
    table.add_column("figure", overflow="fold")
    table.add_column(OURS, justify="right", style="bold")
    table.add_column("target", justify="right")
    table.add_column("", justify="left")
    peers = peers_of(result.figures)
    for peer in peers:
        table.add_column(f"{peer} (ratio)", justify="right")
    for figure in result.figures:
        name = f"{figure.name}\n[dim]{figure.note}[/dim]" if figure.note else figure.name
        colour = {True: "green", False: "red", None: "dim"}[figure.is_met]
        table.add_row(
            name,
            value(figure),
            figure.target.text if figure.target else "",
            f"[{colour}]{verdict(figure)}[/{colour}]",
            *(peer_value(figure, peer) for peer in peers),
        )
    return table


def markdown(results: Sequence[Result], machine: str) -> str:
    """All results as one page."""
    lines = [
        "# Bench",
        "",
        f"{machine}. In brackets: ours divided by the peer's, measured in the same run.",
        "",
    ]
    for result in results:
        peers = peers_of(result.figures)
        lines += [f"## {result.title}", "", _row("figure", OURS, "target", "", *peers)]
        lines.append(_row("---", "---:", "---:", "---", *("---:" for _ in peers)))
        for figure in result.figures:
            target = figure.target.text if figure.target else ""
            name = f"{figure.name} ({figure.note})" if figure.note else figure.name
            theirs = (peer_value(figure, peer) for peer in peers)
            lines.append(_row(name, value(figure), target, verdict(figure), *theirs))
        lines.append("")
    return "\n".join(lines)


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
