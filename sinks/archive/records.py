"""Which records are archived, and their columns: what Kafka has, so that the router's plan can read them again."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the alias that everybody knows

from contracts.probe_record import PROBE_KEY

RAW_COLUMNS = ("topic", "partition", "offset", "timestamp", "timestampType", "key", "value", "headers")
"""As Spark's Kafka source names them."""
PARTITION_COLUMNS = ("date", "hour")
"""Of the record's timestamp, in UTC."""

_HOUR_SECONDS, _DAY_SECONDS = 3_600, 86_400


def archived_records(records: DataFrame) -> DataFrame:
    """Records of `tbmq.msg.all` → `RAW_COLUMNS` and `PARTITION_COLUMNS`; probes and markers of the router are left out.

    A record without a key is no message of MQTT, but somebody's, and is kept.
    """
    is_message = ~F.col("key").eqNullSafe(F.lit(PROBE_KEY.encode()))
    # By arithmetic, as functions of dates follow the session's time zone.
    seconds = F.unix_seconds("timestamp")
    hour = F.pmod(F.floor(seconds / _HOUR_SECONDS), F.lit(24))
    return records.where(is_message).select(
        *RAW_COLUMNS,
        F.date_from_unix_date(F.floor(seconds / _DAY_SECONDS).cast("int")).alias("date"),
        F.lpad(hour.cast("string"), 2, "0").alias("hour"),
    )
