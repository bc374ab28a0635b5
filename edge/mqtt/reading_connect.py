"""Reads CONNECT, the one packet that tells its own version (section 3.1).

An error carries the version to answer in, because nothing is agreed before it.
"""

from contracts.errors import TopicError
from contracts.topics import validate_topic
from edge.mqtt.errors import RemoteProtocolError, malformed, violation
from edge.mqtt.packets import Connect, Will
from edge.mqtt.primitives import Cursor
from edge.mqtt.properties import NO_PROPERTIES, WILL, read_properties
from edge.mqtt.protocol import PROTOCOL_NAMES, PacketType, ProtocolVersion
from edge.mqtt.reason_codes import ReasonCode

V3_1 = ProtocolVersion.V3_1
V5 = ProtocolVersion.V5

_RESERVED, _CLEAN, _WILL, _WILL_RETAIN, _PASSWORD, _USER_NAME = 0x01, 0x02, 0x04, 0x20, 0x40, 0x80


def read_connect(_first: int, body: bytes, _version: ProtocolVersion) -> Connect:
    """Read CONNECT.

    Raises:
        RemoteProtocolError: With ``version`` set to that of the CONNECT, or, when that is not ours, to the one in
            which to say so; left None when the other side does not speak MQTT at all.
    """
    cursor = Cursor(body)
    version = _read_version(cursor)
    try:
        return _read_connect(cursor, version)
    except RemoteProtocolError as error:
        error.version = version
        raise


def _read_version(cursor: Cursor) -> ProtocolVersion:
    name, level = cursor.binary(), cursor.byte()
    version = PROTOCOL_NAMES.get((name, level))
    if version is None:
        error = RemoteProtocolError(
            ReasonCode.UNSUPPORTED_PROTOCOL_VERSION,
            f"protocol level {level} is not supported: use MQTT 3.1, 3.1.1 or 5.0",
        )
        if name in (b"MQTT", b"MQIsdp"):  # [MQTT-3.1.2-1] else a bare close
            error.version = V5 if level > 5 else ProtocolVersion.V3_1_1  # [MQTT-3.1.2-2]
        raise error
    return version


def _read_connect(cursor: Cursor, version: ProtocolVersion) -> Connect:
    flags = cursor.byte()
    if version is not V3_1:
        _check_flags(flags, version)
    keep_alive = cursor.two_byte()
    properties = NO_PROPERTIES
    if version is V5:
        properties = read_properties(cursor, PacketType.CONNECT)
        if properties.authentication_data is not None and properties.authentication_method is None:
            raise violation("authentication data needs an authentication method")
    client_id = cursor.string()  # [MQTT-3.1.3-3]
    will = _read_will(cursor, flags, version) if flags & _WILL else None
    user_name = cursor.string() if flags & _USER_NAME and not _is_left_out(cursor, version) else None
    password = cursor.binary() if flags & _PASSWORD and not _is_left_out(cursor, version) else None
    cursor.finish()
    if password is not None and user_name is None and version is not V5:
        raise malformed("a password needs a user name")  # [MQTT-3.1.2-22] of 3.1.1
    clean = flags & _CLEAN == _CLEAN
    return Connect(client_id, version, clean, keep_alive, user_name, password, will, properties)


def _check_flags(flags: int, version: ProtocolVersion) -> None:
    """What MQTT 3.1 leaves open and 3.1.1 and 5.0 do not."""
    if flags & _RESERVED:
        raise malformed("the reserved flag of CONNECT is set")  # [MQTT-3.1.2-3]
    if not flags & _WILL and flags & (0x18 | _WILL_RETAIN):
        raise malformed(
            "CONNECT has a will QoS or will retain, but no will"
        )  # [MQTT-3.1.2-11], [MQTT-3.1.2-13]
    if version is not V5 and flags & _PASSWORD and not flags & _USER_NAME:
        raise malformed("a password needs a user name")  # [MQTT-3.1.2-22] of 3.1.1; v5 allows it


def _is_left_out(cursor: Cursor, version: ProtocolVersion) -> bool:
    """MQTT 3.1 lets clients set the flags of user name and password and leave the fields out."""
    return version is V3_1 and not cursor.remaining


def _read_will(cursor: Cursor, flags: int, version: ProtocolVersion) -> Will:
    qos = flags >> 3 & 3
    if qos == 3:
        raise malformed("the will has QoS 3")  # [MQTT-3.1.2-12]
    properties = read_properties(cursor, WILL) if version is V5 else NO_PROPERTIES
    topic = cursor.string()  # [MQTT-3.1.3-11]
    payload = cursor.binary()
    try:
        validate_topic(topic)
    except TopicError as error:
        raise RemoteProtocolError(ReasonCode.TOPIC_NAME_INVALID, str(error)) from None
    return Will(topic, payload, qos, flags & _WILL_RETAIN == _WILL_RETAIN, properties)
