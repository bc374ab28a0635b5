"""Offsets of a consumer group in a transaction, with an end to the wait.

librdkafka's own timeout for this call does nothing (its issues 5456 and 5511): when Kafka restarts at the wrong moment,
the call never returns. So it runs in a thread of its own, and a thread that does not come back is left behind, together
with its producer; whoever begins anew under the same transactional id shuts that one out.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Producer, TopicPartition

_LENIENCE = 2.0  # seconds beyond the timeout, in which librdkafka may still keep it by itself


def send_offsets(
    producer: Producer,
    offsets: Sequence[TopicPartition],
    group: Any,
    seconds: float,
    lenience: float = _LENIENCE,
) -> None:
    """Add the offsets that a group has read up to, to the producer's open transaction.

    Args:
        producer: It has begun a transaction. After an exception let go of it: another thread may hold it for ever.
        offsets: The next to be read, by partition.
        group: The group's metadata, as the consumer has it.
        seconds: How long Kafka may take.
        lenience: Seconds beyond that before the call is given up.

    Raises:
        KafkaException: Kafka refused, or did not answer in time.
    """
    raised: list[BaseException] = []
    returned = threading.Event()

    def send() -> None:
        try:
            producer.send_offsets_to_transaction(list(offsets), group, seconds)
        except BaseException as error:
            raised.append(error)
        finally:
            returned.set()

    threading.Thread(target=send, name="send-offsets", daemon=True).start()
    if not returned.wait(seconds + lenience):
        raise KafkaException(
            KafkaError(KafkaError._TIMED_OUT, "the group's coordinator does not take the offsets")
        )
    if raised:
        raise raised[0]
