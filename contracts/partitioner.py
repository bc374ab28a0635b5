"""Kafka's own partitioner: which partition a keyed record goes to when its writer names none.

Java's producers (so Spark's Kafka sink) have it by default, librdkafka has it as `murmur2_random`. Who must know a
client's partition without writing to it, such as a gateway that looks for a client's messages, asks here.
"""

from __future__ import annotations

_MULTIPLIER = 0x5BD1E995
_SEED = 0x9747B28C
_UINT32 = 0xFFFF_FFFF


def murmur2(data: bytes) -> int:
    """The 32-bit murmur2 hash of some bytes, with Kafka's seed; unsigned."""
    hash = _SEED ^ len(data)
    whole = len(data) & ~3
    for at in range(0, whole, 4):
        word = int.from_bytes(data[at : at + 4], "little") * _MULTIPLIER & _UINT32
        word = (word ^ word >> 24) * _MULTIPLIER & _UINT32
        hash = hash * _MULTIPLIER & _UINT32 ^ word
    if rest := data[whole:]:
        hash = (hash ^ int.from_bytes(rest, "little")) * _MULTIPLIER & _UINT32
    hash = (hash ^ hash >> 13) * _MULTIPLIER & _UINT32
    return hash ^ hash >> 15


def partition_of(key: bytes, partitions: int) -> int:
    """The partition of a record with this key in a Kafka topic of so many partitions."""
    # Kafka makes the signed number positive by dropping its sign.
    return (murmur2(key) & 0x7FFF_FFFF) % partitions
