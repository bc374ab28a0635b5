"""What of Kafka a batch covers, from what Spark has written down before it began."""

from __future__ import annotations

import json
from pathlib import Path

from sinks.errors import BatchFailedError


def batch_ends(checkpoint: str, batch_id: int, topic: str) -> dict[int, int]:
    """Each partition's end offset of a batch; it holds everything before, from where the last one ended.

    The rows do not tell: their last ones may be probes, which are not archived, or there may be none at all.

    Args:
        checkpoint: The query's, on this machine.
        batch_id: As `foreachBatch` is told.
        topic: The Kafka topic.

    Raises:
        BatchFailedError: Spark has not written it down.
    """
    try:
        # A version, then the query's metadata, then a line for each source: there is one.
        source = (Path(checkpoint) / "offsets" / str(batch_id)).read_text().splitlines()[2]
        return {int(partition): end for partition, end in json.loads(source)[topic].items()}
    except (OSError, IndexError, KeyError, ValueError) as error:
        raise BatchFailedError(
            f"Spark's checkpoint does not tell what batch {batch_id} covers: {error}"
        ) from None
