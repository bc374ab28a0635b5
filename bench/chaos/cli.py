"""`python -m bench.chaos`: a stack of its own, a run on it, the report; exit status 1 when anything did not hold."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Annotated

import typer
import uvloop
from rich.console import Console

from admin.errors import AdminError
from admin.stack.embedded import StackOptions, embedded_stack
from bench.chaos.plan import GATEWAY_SETTINGS, Options
from bench.chaos.report import closing_line, faults_table, verdicts_table, write_report
from bench.chaos.run import Chaos, Outcome

BATCH_SECONDS = 20
"""Of the router: short, so that faults meet its rollovers too."""

app = typer.Typer(add_completion=False)


@app.command()
def chaos(
    seed: Annotated[
        int, typer.Option(help="Decides which faults come in which order, and who goes when.")
    ] = 1,
    duration: Annotated[float, typer.Option(min=10, help="Seconds of traffic and faults.")] = 600.0,
    rate: Annotated[float, typer.Option(min=0.1, help="Messages a second of each of 20 publishers.")] = 4.0,
    gateways: Annotated[int, typer.Option(min=2, max=16, help="How many gateways.")] = 3,
    out: Annotated[Path, typer.Option(help="The report as JSON.", metavar="FILE")] = Path(
        "bench/results/chaos.json"
    ),
) -> None:
    """Kill and stop gateways, router, sink, Kafka and store, one at a time, under numbered QoS 1 and QoS 2 traffic.

    Persistent DEVICEs and APPLICATIONs and clean subscribers come and go over all gateways meanwhile. At the end every
    message is looked for: QoS 2 exactly once, QoS 1 at least once, the order of first copies kept, one live connection
    for each client id.
    """
    console = Console(width=None if sys.stdout.isatty() else 140)
    options = Options(seed, duration, rate=rate)
    data = Path(tempfile.mkdtemp(prefix="sluicemq-chaos-"))
    holds = False
    try:
        stack_options = StackOptions(
            data, gateways=gateways, batch_seconds=BATCH_SECONDS, gateway_settings=GATEWAY_SETTINGS
        )
        with embedded_stack(
            stack_options, lambda line: console.print(f"[dim]{line}[/dim]", highlight=False)
        ) as stack:
            chaos = Chaos(stack, options, lambda line: console.print(line, highlight=False))
            outcome = uvloop.run(chaos.run())
        holds = outcome.holds
        _show(outcome, console)
        write_report(outcome, out)
        console.print(f"wrote {out}", highlight=False)
    except AdminError as error:
        console.print(f"[red]{error}[/red]", highlight=False)
    finally:
        if holds:
            shutil.rmtree(data, ignore_errors=True)
        else:
            console.print(f"The data and logs of this run stay in {data}.", highlight=False)
    if not holds:
        raise typer.Exit(1)


def _show(outcome: Outcome, console: Console) -> None:
    console.print(faults_table(outcome.struck))
    if outcome.restarts_unasked:
        ended = ", ".join(f"{part} {count}" for part, count in outcome.restarts_unasked.items())
        console.print(f"Parts that ended by themselves and were restarted: {ended}.", highlight=False)
    console.print(verdicts_table(outcome))
    console.print(closing_line(outcome), style="green" if outcome.holds else "bold red", highlight=False)


def main() -> None:
    """Run the command."""
    app(prog_name="python -m bench.chaos")
