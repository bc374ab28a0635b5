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
from admin.stack.embedded import StackOptions, embedded_stack
from admin.stack.gateway import MqttAddress


def demo(
    messages: Annotated[int, typer.Option(min=1, max=17_000, help="How many readings to replay.")] = 5_000,
    rate: Annotated[int, typer.Option(min=1, help="Messages a second.")] = 200,
) -> None:
    """Replay real weather through a whole stack, and check every delivery.

    It starts Kafka, the router and two gateways in a temporary folder. Two devices publish the hourly temperatures of
    Seattle and San Francisco at QoS 2 on the first gateway; nine subscribers (an exact filter, `+` and `#`, each at QoS
    0, 1 and 2) are on the second. Exit status 1 when anything was lost, late, doubled or altered.
    """
    # Clean-up belongs to the end of the blocks below, also when it is not Ctrl-C that asks for the end.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    data = Path(tempfile.mkdtemp(prefix="sluicemq-demo-"))
    keep = False
    try:
        with embedded_stack(StackOptions(data), tell) as stack:
            keep = not _run(messages, rate, stack.mqtt[0], stack.mqtt[1])
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


def _run(messages: int, rate: int, publish_at: MqttAddress, subscribe_at: MqttAddress) -> bool:
    """Replay and report; whether everything held."""
    # Here, not at the top: help and the other sub-commands need none of it.
    from admin.demo.readings import first_readings
    from admin.demo.replay import deliveries_of, replay
    from admin.demo.report import closing_line, closing_table, shown_progress

    readings = first_readings(messages)
    out.print(
        f"Replaying {len(readings):,} readings, {readings[0].time} to {readings[-1].time}, at {rate} a second:"
        f" devices on {publish_at.node}, subscribers on {subscribe_at.node}"
    )
    with shown_progress(out, len(readings), deliveries_of(readings)) as progress:
        outcome = asyncio.run(replay(readings, rate, publish_at, subscribe_at, progress))
    out.print(closing_table(outcome))
    out.print(closing_line(outcome), style="green" if outcome.holds else "bold red")
    return outcome.holds
