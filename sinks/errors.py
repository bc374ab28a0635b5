"""Errors of the sinks.

SinkError
├── LogUnavailableError   Kafka does not answer, or the log is missing there
├── StoreAheadError       the store has more of the log than Kafka
├── PositionLostError     the store has fallen back; the log is to be read again from where it stands
├── BatchFailedError      Spark could not run a batch
├── DeltaMissingError     Spark has no Delta Lake, and the archive is to be a table of it
├── ForeignTableError     the archive is to be a table that somebody else has made
├── SinkStoppedError      the sink was told to stop before a batch was in the store
└── SinkFailedError       the query failed again and again
"""


class SinkError(Exception):
    """The sink cannot go on as it is; the message is one sentence."""


class LogUnavailableError(SinkError):
    """Kafka does not answer, or has no such topic. Trying again later is right."""


class StoreAheadError(SinkError):
    """The store has more of the log than Kafka: it belongs to another Kafka, or Kafka has lost records."""


class PositionLostError(SinkError):
    """The store has fallen back behind what it confirmed: emptied, restored from a copy, or its machine crashed."""


class BatchFailedError(SinkError):
    """Spark could not run a batch; nothing of it is lost."""


class DeltaMissingError(SinkError):
    """Spark has no Delta Lake; the argument is the package that brings it."""

    def __init__(self, package: str) -> None:
        super().__init__(f"Spark has no Delta Lake: give spark-submit {package} among its --packages")


class ForeignTableError(SinkError):
    """A table of Delta Lake of which no commit tells how far it has Kafka; the argument is its place."""

    def __init__(self, place: str) -> None:
        super().__init__(f"{place} is a table that no archive has made: give the archive a folder of its own")


class SinkStoppedError(SinkError):
    """The sink was told to stop; what is not in the store yet, the next one takes from the log."""


class SinkFailedError(SinkError):
    """The query failed again and again; what Spark said last is part of the message."""
