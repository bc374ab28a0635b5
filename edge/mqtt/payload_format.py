"""Whether a payload is what its Payload Format Indicator says (sections 3.1.3.2.3 and 3.3.2.3.2)."""

from edge.mqtt.packets import Publish, Will


def is_as_indicated(message: Publish | Will) -> bool:
    """False for a payload that is said to be UTF-8 text, and is not; U+0000 may be in text."""
    if message.properties.payload_format_indicator != 1 or message.payload.isascii():
        return True
    try:
        message.payload.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
