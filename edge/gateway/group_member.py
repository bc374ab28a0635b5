"""A thread's life as a member of a Kafka consumer group: it joins, works, and begins anew whenever that fails."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from confluent_kafka import Consumer, KafkaException, Message

from edge.gateway.kafka_clients import Config
from telemetry.librdkafka import TOLD

log = logging.getLogger(__name__)

_AGAIN = 0.3  # seconds before it begins anew


def stay_member(
    who: str,
    config: Config,
    stopping: threading.Event,
    work: Callable[[Consumer], None],
    let_go: Callable[[], None],
) -> None:
    """Be a member until told to stop; it blocks.

    Args:
        who: For logs.
        config: As `member_config` makes it.
        stopping: Set when it is to end.
        work: Subscribes, and works until `stopping`; whatever it raises, it is called again with a new consumer.
        let_go: Called when the work is over, before the group is left.
    """
    while not stopping.is_set():
        consumer = None
        try:
            consumer = Consumer(config | TOLD)
            work(consumer)
        except KafkaException as error:  # fatal, such as being fenced
            log.warning("%s begins anew: %s", who, error)
            stopping.wait(_AGAIN)
        except Exception:
            log.exception("%s failed, and begins anew", who)
            stopping.wait(_AGAIN)
        finally:
            let_go()
            if consumer is not None:
                consumer.close()


def is_record(message: Message, who: str) -> bool:
    """Whether what was polled is a record; an error that librdkafka gets over by itself is logged.

    Raises:
        KafkaException: It does not.
    """
    error = message.error()
    if error is None:
        return True
    if error.fatal():
        raise KafkaException(error)
    log.warning("%s: %s", who, error)
    return False
