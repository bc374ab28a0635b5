"""What gateways have counted, over time, in SQL: `StatisticsStore`, and its points for charts.

The sink in `sinks/historical` writes it.
"""

from stores.historical.store import Point, StatisticsStore

__all__ = ["Point", "StatisticsStore"]
