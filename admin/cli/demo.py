"""`sluicemq demo`: the whole broker at work on real data, with every delivery checked."""

from __future__ import annotations

import asyncio
import shutil
import signal
import tempfile
from pathlib import Path
from typing import Annotated

import typer

from admin.cli.console import out, tell
from admin.errors import AdminError
from admin.stack.embedded import Stack, StackOptions, embedded_stack

_DEVICE, _APPLICATION = "traveller", "application"
"""Client ids of those whose sessions outlive their connections."""


def demo(
    messages: Annotated[int, typer.Option(min=1, max=17_000, help="How many readings to replay.")] = 5_000,
    rate: Annotated[int, typer.Option(min=1, help="Messages a second.")] = 200,
) -> None:
    """Replay real weather through a whole stack, and check every delivery.

    It starts Kafka, the router, a store, its sink and three gateways in a temporary folder. Two devices publish the
    hourly temperatures of Seattle and San Francisco at QoS 2 on the first gateway; nine subscribers (an exact filter,
    `+` and `#`, each at QoS 0, 1 and 2) are on the second. Two more have sessions that outlive their connections: a
    DEVICE begins on the third, goes offline, comes back on the second, and on the third again, which is then killed; an
    APPLICATION is stopped and resumes on the first. Exit status 1 when anything was
    lost, late, doubled or altered.
    """
    # Clean-up belongs to the end of the blocks below, also when it is not Ctrl-C that asks for the end.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    data = Path(tempfile.mkdtemp(prefix="sluicemq-demo-"))
    keep = False
    try:
        options = StackOptions(
            data, gateways=3, gateway_settings={"SLUICEMQ_APPLICATION_CLIENTS": _APPLICATION}
        )
        with embedded_stack(options, tell) as stack:
            keep = not _run(messages, rate, stack)
    except (AdminError, OSError) as error:
        keep = True
        raise error if isinstance(error, AdminError) else AdminError(f"The demo failed: {error}.") from error
    finally:
        if keep:
            tell(f"The data and logs of this run stay in {data}.")
        else:
            shutil.rmtree(data, ignore_errors=True)
    if keep:
        raise typer.Exit(1)


def _run(messages: int, rate: int, stack: Stack) -> bool:
    """Replay and report; whether everything held."""
    # Here, not at the top: help and the other sub-commands need none of it.
    from admin.demo.readings import first_readings
    from admin.demo.replay import Journey, deliveries_of, replay
    from admin.demo.report import closing_line, closing_table, shown_progress
    from admin.demo.traveller import Stage

    readings = first_readings(messages)
    gw1, gw2, gw3 = stack.mqtt
    out.print(
        f"Replaying {len(readings):,} readings, {readings[0].time} to {readings[-1].time}, at {rate} a second:"
        f" devices on {gw1.node}, subscribers on {gw2.node}, a traveller and an application on {gw3.node}"
    )

    def after(tenths: int) -> int:
        return messages * tenths // 10

    def tell_story(told: str) -> None:
        out.print(told, style="bold")

    kill = f"{gw3.node} is killed; the traveller goes to {gw2.node}"
    journeys = [
        Journey(
            _DEVICE,
            gw3,
            [
                Stage(after(2), None, "The traveller goes offline"),
                Stage(after(4), gw2, f"The traveller comes back on {gw2.node}"),
                Stage(after(5), gw3, f"The traveller moves to {gw3.node}"),
                Stage(after(6), gw2, kill, lambda: stack.kill(gw3.node)),
            ],
            tell_story,
        ),
        Journey(
            _APPLICATION,
            gw3,
            [
                Stage(after(3), None, "The application is stopped"),
                Stage(after(8), gw1, f"The application resumes on {gw1.node}"),
            ],
            tell_story,
        ),
    ]
    total = deliveries_of(readings, travellers=len(journeys))
    with shown_progress(out, len(readings), total) as progress:
        outcome = asyncio.run(replay(readings, rate, gw1, gw2, progress, journeys))
    out.print(closing_table(outcome))
    out.print(closing_line(outcome), style="green" if outcome.holds else "bold red")
    return outcome.holds
