"""What became of an administrator's command: records of `tbmq.sys.admin.response`.

The key is the command, as in `session_event.CommandGiven`. A session's owner answers, or the gateway of its connection;
every process of the administration reads all answers, and passes over those to others.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from contracts import json_text
from contracts.errors import RecordError

DONE, NO_SESSION, NOT_CONNECTED, MOVED = "done", "no_session", "not_connected", "moved"
"""Outcomes: it is done, or on its way; there is no such session; it has no connection that could be ended; its
connection came or went meanwhile, so that the command is to be given again."""
_OUTCOMES = (DONE, NO_SESSION, NOT_CONNECTED, MOVED)


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """The answer to one command."""

    command: str
    """Which."""
    outcome: str
    """One of the above."""
    reasons: tuple[int, ...] = ()
    """For subscriptions: the reason codes of SUBACK, then those of UNSUBACK, in the command's order."""


def encode_key(answer: CommandAnswer) -> bytes:
    """The record's key."""
    return answer.command.encode()


def encode_value(answer: CommandAnswer) -> bytes:
    """The record's JSON; fields that have their default are left out."""
    fields: dict[str, Any] = {"outcome": answer.outcome}
    if answer.reasons:
        fields["reasons"] = list(answer.reasons)
    return json.dumps(fields, separators=(",", ":")).encode()


def decode(key: bytes | None, value: bytes | None) -> CommandAnswer:
    """Read an answer.

    Raises:
        RecordError: It is not of the documented form.
    """
    try:
        command, fields = (key or b"").decode(), json_text.load(value or b"")
        outcome, reasons = fields["outcome"], tuple(fields.get("reasons", ()))
        if not command or outcome not in _OUTCOMES or any(type(reason) is not int for reason in reasons):
            raise ValueError
        return CommandAnswer(command, outcome, reasons)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise RecordError("a command's answer is not a JSON object of the documented form") from None
