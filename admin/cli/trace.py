"""`sluicemq trace`: the way of messages through gateways, Kafka and router, live."""

from __future__ import annotations

import json
import re
from typing import Annotated

import typer
from rich.live import Live

from admin.cli.cells import plain
from admin.cli.console import out, tell
from admin.cli.trace_view import TraceView, line_of
from admin.errors import UsageError
from admin.traces import Trace
from contracts.errors import ContractError, TopicError
from contracts.kafka_topics import DEFAULT_PREFIX, KafkaTopics
from contracts.topics import validate_filter
from contracts.trace_record import LONGEST_SECONDS

_UNITS = {"s": 1, "m": 60, "h": 3_600}
_LIVE_PER_SECOND = 4


def trace(
    kafka: Annotated[
        str, typer.Option(envvar="TB_KAFKA_SERVERS", help="Kafka bootstrap servers, HOST:PORT,HOST:PORT.")
    ],
    client: Annotated[
        str | None, typer.Option(help="What this client publishes and gets.", show_default=False)
    ] = None,
    topic: Annotated[
        str | None,
        typer.Option(help="What is published on topics that match this filter.", show_default=False),
    ] = None,
    for_: Annotated[
        str, typer.Option("--for", help="How long, as 30s, 5m or 1h; then it ends by itself.")
    ] = "5m",
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object a step and line.")] = False,
    topic_prefix: Annotated[str, typer.Option(help="First part of all Kafka topic names.")] = DEFAULT_PREFIX,
) -> None:
    """Show messages' ways: PUBLISH, Kafka, router, delivery, acknowledgement, with times. Ctrl-C ends it before.

    It reaches all gateways through Kafka. Payloads are not shown, and never leave the gateway.
    """
    if not client and not topic:
        raise UsageError("Nothing is to be traced: give --client, --topic or both.")
    seconds = parse_seconds(for_)
    try:
        topics = KafkaTopics(topic_prefix)
        if topic:
            validate_filter(topic)
    except (ContractError, TopicError) as error:
        raise UsageError(f"{error}.") from error
    traced = Trace(kafka, topics, client or None, topic or None)
    what = " or ".join(
        part for part in (client and f"client {client!r}", topic and f"topics {topic!r}") if part
    )
    try:
        traced.begin(seconds)
        tell(f"Traces {what} for {for_}; Ctrl-C ends it.")
        _show(traced, what, as_json=as_json)
    except KeyboardInterrupt:
        tell("Ended.")
    finally:
        traced.end()


def parse_seconds(text: str) -> int:
    """A time as `30s`, `5m` or `1h`.

    Raises:
        UsageError: It is none, or longer than traces are.
    """
    found = re.fullmatch(r"(\d{1,6})([smh])", text)
    seconds = int(found[1]) * _UNITS[found[2]] if found else 0
    if not 0 < seconds <= LONGEST_SECONDS:
        raise UsageError(f"--for {text!r} is no time: write 30s, 5m or 1h, and an hour at most.")
    return seconds


def _show(traced: Trace, what: str, *, as_json: bool) -> None:
    view = TraceView()
    if as_json or not out.is_terminal:
        for step in traced.steps():
            if step is None:
                continue
            if as_json:
                out.print(json.dumps(step), markup=False, soft_wrap=True)
                continue
            way = view.take(step)
            after_ms = next(after for after, each in way.ordered() if each is step)
            line = plain(f"{way.place or step.get('publish') or '':<14} {step.get('topic', '')}  ")
            out.print(line.append_text(line_of(after_ms, step)), soft_wrap=True)
        return
    with Live(console=out, refresh_per_second=_LIVE_PER_SECOND, vertical_overflow="visible") as live:
        for step in traced.steps():
            if step is not None:
                view.take(step)
            live.update(view.render(f"Trace of {what}"))
