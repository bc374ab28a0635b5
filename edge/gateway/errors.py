"""Errors of the gateway.

GatewayError
└── KafkaNotReadyError    Kafka does not answer, or has not what a gateway needs
"""


class GatewayError(Exception):
    """The gateway can't go on; the message is one sentence that says what to change."""


class KafkaNotReadyError(GatewayError):
    """Kafka does not answer, or has not what a gateway needs."""
