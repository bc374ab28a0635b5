"""Errors of the router.

RoutingError
├── RouteTableError     the subscription table cannot be read from Kafka
│   └── PastTableError  what the table was at a moment can't be told any more
├── MomentError         a place in a log was not said, or is not there
├── ChangeError         a change to the table, for a what-if, is none
├── ReplayError         a replay's options don't fit together, or not what it began with
├── CheckpointError     the checkpoint is damaged or not writable; names the file
├── RouterFailedError   the query failed again and again
└── HooksError          the hooks' configuration, or a hook, is wrong; names the file and what to change
"""


class RoutingError(Exception):
    """The router cannot go on; the message is one sentence that says what to change."""


class RouteTableError(RoutingError):
    """The subscription table cannot be read from Kafka."""


class PastTableError(RouteTableError):
    """Compaction may have removed what the table was at that moment."""


class MomentError(RoutingError, ValueError):
    """A place in a log that is none."""


class ChangeError(RoutingError, ValueError):
    """A change to the subscription table that is none."""


class ReplayError(RoutingError):
    """A replay that can't be done as it was asked for."""


class CheckpointError(RoutingError):
    """The checkpoint is damaged or cannot be written."""


class RouterFailedError(RoutingError):
    """The query failed again and again; what Spark said last is part of the message."""


class HooksError(RoutingError):
    """The hooks' configuration, or a hook, cannot be used; the sentence names it and says what to change."""
