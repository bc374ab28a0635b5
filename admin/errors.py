"""What goes wrong for a user of the `sluicemq` command.

    AdminError            one sentence, exit status 1
    ├── UsageError        an option or a setting is wrong: exit status 2
    └── PartError        a part of the stack did not start

This module must never import anything but the standard library.
"""

from __future__ import annotations


class AdminError(Exception):
    """Something that the user can change. The message is one sentence that says what to change."""

    exit_status = 1


class UsageError(AdminError):
    """A wrong option or setting, found before anything was started."""

    exit_status = 2


class PartError(AdminError):
    """A part of the embedded stack stopped, or did not get ready in time."""
