"""What goes wrong for a user of the `sluicemq` command.

    AdminError                 one sentence, exit status 1
    ├── UsageError             an option or a setting is wrong: exit status 2
    ├── PartError              a part of the stack did not start
    ├── KafkaUnavailableError  Kafka does not answer, or could not do what it was asked for
    └── NotConfiguredError     it was not told where something is

This module must never import anything but the standard library.
"""

from __future__ import annotations

import sys
from collections.abc import Callable


class AdminError(Exception):
    """Something that the user can change. The message is one sentence that says what to change."""

    exit_status = 1


class UsageError(AdminError):
    """A wrong option or setting, found before anything was started."""

    exit_status = 2


class PartError(AdminError):
    """A part of the embedded stack stopped, or did not get ready in time."""


class KafkaUnavailableError(AdminError):
    """Kafka does not answer, or could not do what it was asked for; trying again later is right."""


class NotConfiguredError(AdminError):
    """What was asked for needs a setting that was not given; the message names it."""


def exit_status_of(act: Callable[[], object]) -> int:
    """Do something as a program of its own: the exit status, and where it is not 0 the sentence on standard error."""
    try:
        act()
    except AdminError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_status
    return 0
