"""Errors of the contracts.

ContractError (a ValueError)
├── TopicError    a topic, filter or share name breaks the grammar
└── RecordError   a Kafka record is not of the documented form
"""


class ContractError(ValueError):
    """Something breaks a contract; the message is one sentence that says what to change."""


class TopicError(ContractError):
    """A topic name or filter breaks the grammar of MQTT 5.0, section 4.7."""


class RecordError(ContractError):
    """A record read from Kafka is not of the documented form (docs/kafka-format.md)."""
