"""A short run on a stack of its own: nothing is lost, nothing doubled; and the report can be written.

The router is among what is killed at random moments under load (P10).
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from admin.stack.embedded import StackOptions, embedded_stack
from bench.chaos.plan import GATEWAY_SETTINGS, Options
from bench.chaos.report import closing_line, write_report
from bench.chaos.run import Chaos

pytestmark = [pytest.mark.live, pytest.mark.timeout(600, func_only=True)]

SEED = 6
SECONDS = 25.0


async def test_a_short_run(tmp_path: Path) -> None:
    options = StackOptions(tmp_path / "data", gateways=3, batch_seconds=20, gateway_settings=GATEWAY_SETTINGS)
    with embedded_stack(options) as stack:
        outcome = await Chaos(stack, Options(SEED, SECONDS, rate=3.0), print).run()
    report = tmp_path / "reports" / "chaos.json"
    write_report(outcome, report)
    assert outcome.holds, f"{closing_line(outcome)}\n{report.read_text()[:4000]}"
    assert json.loads(report.read_text())["holds"]
    assert outcome.struck
    assert sum(verdict.delivered for verdict in outcome.verdicts) > sum(outcome.published.values()) > 500
