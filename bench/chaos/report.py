"""A run's report: a table for the terminal, and everything as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Column, Table

from bench.chaos.faults import Struck
from bench.chaos.run import Outcome

_WHATS = ("missing", "repeated", "late", "wrong")
_MOST_FINDINGS = 200
"""Of one subscriber, in the JSON file; a fault that loses everything needs no more to be understood."""


def faults_table(struck: Sequence[Struck]) -> Table:
    """Faults by part and kind: how many, and the longest until all was well again."""
    table = Table(Column("fault"), Column("times", justify="right"), Column("longest s", justify="right"))
    for (part, kind), count in sorted(_counted(struck).items()):
        longest = max(s.lasted for s in struck if (s.fault.part, s.fault.kind) == (part, kind))
        table.add_row(f"{kind} {part}", str(count), f"{longest:.1f}")
    return table


def verdicts_table(outcome: Outcome) -> Table:
    """A row for each subscriber."""
    table = Table(
        Column("subscriber"),
        *(
            Column(name, justify="right")
            for name in ("connections", "delivered", "of", "again (QoS 1)", *_WHATS)
        ),
        title="What became of each message",
    )
    for verdict in outcome.verdicts:
        table.add_row(
            verdict.name,
            str(len(outcome.visits[verdict.name])),
            f"{verdict.delivered:,}",
            f"{verdict.expected:,}",
            f"{verdict.again:,}",
            *(f"{verdict.count(what):,}" for what in _WHATS),
            style="bold red" if verdict.findings else None,
        )
    return table


def closing_line(outcome: Outcome) -> str:
    """One line that says whether all held."""
    messages, faults = sum(outcome.published.values()), len(outcome.struck)
    about = f"seed {outcome.options.seed}, {faults} faults, {messages:,} messages"
    if outcome.holds:
        delivered = sum(verdict.delivered for verdict in outcome.verdicts)
        return f"All of it held ({about}): {delivered:,} deliveries, QoS 2 exactly once, nothing missing, in order."
    counted = Counter(finding.what for verdict in outcome.verdicts for finding in verdict.findings)
    found = ", ".join(f"{counted[what]:,} {what}" for what in _WHATS if counted[what])
    return f"It did NOT hold ({about}): {'; '.join(filter(None, (found, *outcome.complaints)))}."


def as_json(outcome: Outcome) -> dict[str, Any]:
    """All of it as plain data."""
    counted = _counted(outcome.struck)
    return {
        "holds": outcome.holds,
        "options": asdict(outcome.options),
        "faults": {f"{kind} {part}": count for (part, kind), count in sorted(counted.items())},
        "struck": [asdict(struck) for struck in outcome.struck],
        "restarts_unasked": outcome.restarts_unasked,
        "published": sum(outcome.published.values()),
        "complaints": list(outcome.complaints),
        "subscribers": {
            verdict.name: {
                "expected": verdict.expected,
                "delivered": verdict.delivered,
                "again": verdict.again,
                **{what: verdict.count(what) for what in _WHATS},
                "findings": [asdict(finding) for finding in verdict.findings[:_MOST_FINDINGS]],
            }
            for verdict in outcome.verdicts
        },
        "visits": {name: [asdict(visit) for visit in visits] for name, visits in outcome.visits.items()},
    }


def write_report(outcome: Outcome, file: Path) -> None:
    """Write the JSON file, and its folder."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(as_json(outcome), indent=1, ensure_ascii=False) + "\n")


def _counted(struck: Sequence[Struck]) -> Counter[tuple[str, str]]:
    return Counter((one.fault.part, one.fault.kind) for one in struck)
