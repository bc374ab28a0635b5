"""Errors of the router.

RoutingError
├── RouteTableError     the subscription table cannot be read from Kafka
├── CheckpointError     the checkpoint is damaged or not writable; names the file
├── RouterFailedError   the query failed again and again
└── HooksError          the hooks' configuration, or a hook, is wrong; names the file and what to change
"""


class RoutingError(Exception):
    """The router cannot go on; the message is one sentence that says what to change."""


class RouteTableError(RoutingError):
    """The subscription table cannot be read from Kafka."""


class CheckpointError(RoutingError):
    """The checkpoint is damaged or cannot be written."""


class RouterFailedError(RoutingError):
    """The query failed again and again; what Spark said last is part of the message."""


class HooksError(RoutingError):
    """The hooks' configuration, or a hook, cannot be used; the sentence names it and says what to change."""
