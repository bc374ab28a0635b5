"""The process that Spark forks the Python workers of sinks into SQL from (spark.python.daemon.module).

It has loaded what appending needs. No thread may run before the fork: these imports start none.
"""

import pyspark.worker
from pyspark.daemon import manager

import sinks.appending
import stores.log_positions

__all__ = ["pyspark", "sinks", "stores"]

if __name__ == "__main__":
    manager()
