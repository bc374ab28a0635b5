"""`python -m bench`: run the benches, show each table as it comes, write the files at the end."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from admin.errors import AdminError
from bench.benches import BENCHES
from bench.benches.routes import MILLIONS
from bench.environment import open_environment
from bench.figures import Result
from bench.load.process import LoadError
from bench.report.files import machine, write_files
from bench.report.tables import terminal_table

app = typer.Typer(add_completion=False)


@app.command()
def bench(
    only: Annotated[
        list[str] | None, typer.Option(help="Run only this bench; may be repeated.", metavar="NAME")
    ] = None,
    seconds: Annotated[float, typer.Option(min=1, help="Length of one measurement of throughput.")] = 4.0,
    rounds: Annotated[int, typer.Option(min=1, help="How often each is repeated; the median counts.")] = 3,
    rollovers: Annotated[int, typer.Option(min=1, help="Rollovers that the latency bench waits for.")] = 10,
    messages: Annotated[int, typer.Option(min=1_000, help="Messages that are replayed.")] = 5_000_000,
    millions: Annotated[
        list[int] | None,
        typer.Option(help="Of routes in the bench of that name: 1 or 10; may be repeated. Ten want 17 GiB."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="A tenth of everything: only to try whether the benches work.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for JSON, Markdown and plots.")] = Path("bench/results"),
    list_names: Annotated[bool, typer.Option("--list", help="List the benches and end.")] = False,
) -> None:
    """Measure SluiceMQ, each figure beside its peers' in the same run. All of it takes about 20 minutes."""
    # Where nobody looks there is no width to fit into; 80, rich's guess, would fold every cell.
    console = Console(width=None if sys.stdout.isatty() else 140)
    if list_names:
        for name, measure in BENCHES.items():
            console.print(f"{name:14} {(measure.__doc__ or '').splitlines()[0]}", highlight=False)
        return
    if unknown := [name for name in only or () if name not in BENCHES]:
        raise typer.BadParameter(f"{unknown[0]} is no bench: choose from {', '.join(BENCHES)}")
    if unknown_sizes := [size for size in millions or () if size not in MILLIONS]:
        raise typer.BadParameter(f"there is no table of {unknown_sizes[0]} million routes: choose 1 or 10")
    console.print(machine(), highlight=False)
    results: list[Result] = []
    failed = []
    scale = 1.0
    if quick:
        scale, rounds, rollovers = 0.1, 1, 2
        console.print("[yellow]A quick run: its figures say little.[/yellow]")
    with open_environment(
        console, seconds, rounds, rollovers, scale, messages, millions or (1,)
    ) as environment:
        for name, measure in BENCHES.items():
            if only and name not in only:
                continue
            console.rule(name, align="left")
            began_at = time.monotonic()
            try:
                result = measure(environment)
            except (AdminError, LoadError, OSError, RuntimeError) as error:
                # One bench that fails is no reason to lose what the others measured.
                console.print(f"[red]{name} failed:[/red] {error}", highlight=False)
                failed.append(name)
                environment.stop_stack()
                continue
            result.seconds = time.monotonic() - began_at
            results.append(result)
            console.print(terminal_table(result))
    for file in write_files(results, out):
        console.print(f"wrote {file}", highlight=False)
    if failed:
        raise typer.Exit(1)


def main() -> None:
    """Run the command."""
    app(prog_name="python -m bench")
