"""The data sources, made known to a Spark session.

    from routing.sources import register_sources
    register_sources(spark)
    spark.read.format("mqtt_routes").option("kafka", "127.0.0.1:9092").load()

The packages `contracts` and `routing` must be there on the executors, too (spark-submit --py-files).
"""

from __future__ import annotations

from pyspark.sql import SparkSession

from routing.messages.datasource import MqttMessages
from routing.routes.datasource import MqttRoutes


def register_sources(spark: SparkSession) -> None:
    """Make `mqtt_routes` and `mqtt_messages` known to a session; to do so again changes nothing."""
    for source in (MqttRoutes, MqttMessages):
        spark.dataSource.register(source)
