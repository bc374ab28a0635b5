"""What a trace has shown so far, message by message, as a tree for the terminal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from rich.console import Group
from rich.text import Text
from rich.tree import Tree

from admin.cli.cells import plain

MOST_MESSAGES = 12
"""Shown at a time, the newest last."""
_STYLES = {"acknowledged": "green", "dropped": "red", "refused": "red", "queued": "yellow"}


@dataclass
class Way:
    """One message's."""

    steps: list[dict[str, Any]] = field(default_factory=list)

    @property
    def place(self) -> str | None:
        """Its place in `tbmq.msg.all`, once that is known."""
        return next((step["message"] for step in self.steps if step.get("message")), None)

    def ordered(self) -> Iterator[tuple[float, dict[str, Any]]]:
        """(ms since the first, step), in the order of time; clocks of several machines may differ."""
        ordered = sorted(self.steps, key=happened_ms)
        begins = happened_ms(ordered[0]) if ordered else 0.0
        for step in ordered:
            yield happened_ms(step) - begins, step


class TraceView:
    """Takes steps, and groups them by message."""

    def __init__(self) -> None:
        self.ways: list[Way] = []
        self.left_out = 0
        """Steps that gateways did not tell, since there were too many."""
        self._by_publish: dict[str, Way] = {}
        self._by_place: dict[str, Way] = {}

    def take(self, step: dict[str, Any]) -> Way:
        """A step has come; returns the way that it belongs to."""
        self.left_out += int(step.get("left_out", 0))
        publish, place = step.get("publish"), step.get("message")
        way = self._by_place.get(place or "") or self._by_publish.get(publish or "")
        if way is None:
            way = Way()
            self.ways.append(way)
        elif publish and (other := self._by_publish.get(publish)) not in (None, way) and other is not None:
            # A delivery was told of before the publish was known to be the same message.
            way.steps += other.steps
            self.ways.remove(other)
        if publish:
            self._by_publish[publish] = way
        if place:
            self._by_place[place] = way
        way.steps.append(step)
        return way

    def render(self, heading: str) -> Group:
        """The newest messages, each with its steps."""
        shown = [tree_of(way) for way in self.ways[-MOST_MESSAGES:]]
        lines: list[Text | Tree] = [Text(heading, style="bold"), *shown]
        if hidden := len(self.ways) - len(shown):
            lines.insert(1, Text(f"… {hidden} messages before these", style="dim"))
        if self.left_out:
            lines.append(Text(f"{self.left_out} steps were not told: there are too many", style="yellow"))
        return Group(*lines)


def happened_ms(step: dict[str, Any]) -> float:
    """When a step happened: what Kafka says of a record that the router wrote, else the gateway's clock."""
    if step["step"] == "routed":
        return float(step["kafka"]["at_ms"])
    return float(step["at_ms"])


def tree_of(way: Way) -> Tree:
    """One message's way."""
    first = way.steps[0]
    head = Text("message ").append(way.place or "(not in Kafka yet)", style="bold").append(" on ")
    tree = Tree(head.append_text(plain(first.get("topic"))))
    for after_ms, step in way.ordered():
        tree.add(line_of(after_ms, step))
    return tree


def line_of(after_ms: float, step: dict[str, Any]) -> Text:
    """One step as one line."""
    at = datetime.fromtimestamp(happened_ms(step) / 1_000, UTC).strftime("%H:%M:%S.%f")[:-3]
    line = Text(f"{at} {after_ms:+9.1f} ms  ", style="dim")
    line.append(f"{step['step']:<13}", style=_STYLES.get(step["step"], "none"))
    return line.append_text(plain(words_of(step)))


def words_of(step: dict[str, Any]) -> str:
    """What happened, in words."""
    node, client = step["node"], step.get("client")
    qos = "" if step.get("qos") is None else f", QoS {step['qos']}"
    packet = f", packet {step['packet_id']}" if step.get("packet_id") else ""
    kafka = step.get("kafka")
    record = f"{kafka['topic']} {kafka['partition']}:{kafka['offset']}" if kafka else ""
    match step["step"]:
        case "received":
            return f"{node}: PUBLISH of {client}{qos}{packet}, {step.get('bytes', 0)} bytes"
        case "appended":
            return f"{node}: Kafka has it, {record}"
        case "refused":
            return f"{node}: PUBLISH of {client} is refused: {step.get('reason')}"
        case "routed":
            return f"router: {record}, for {step.get('filter')}" + (f" of {client}" if client else "")
        case "sent":
            return f"{node}: PUBLISH to {client}{qos}" + (", again" if step.get("dup") else "")
        case "queued":
            return f"{node}: waits for the window of {client}{qos}"
        case "acknowledged":
            refused = step.get("reason")
            return f"{node}: {client} " + (f"refuses it, {refused}" if refused else "has it") + packet
        case "dropped":
            return f"{node}: not for {client}: {step.get('reason')}"
        case other:
            return f"{node}: {other}"
