"""Errors of the gateway.

GatewayError
├── KafkaNotReadyError       Kafka does not answer, or has not what a gateway needs
└── CertificateFilesError    a listener's certificate, key or authorities can't be used
"""


class GatewayError(Exception):
    """The gateway can't go on; the message is one sentence that says what to change."""


class KafkaNotReadyError(GatewayError):
    """Kafka does not answer, or has not what a gateway needs."""


class CertificateFilesError(GatewayError):
    """A listener's certificate, key or authorities can't be used."""
