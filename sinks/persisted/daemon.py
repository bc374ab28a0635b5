"""The process that Spark forks the sink's Python workers from (spark.python.daemon.module).

It has loaded what folding needs. So a worker is ready as soon as it is forked, and all workers share that memory.

No thread may run before the fork: these imports start none.
"""

import pyspark.worker
from pyspark.daemon import manager

import sinks.persisted.folding

__all__ = ["pyspark", "sinks"]

if __name__ == "__main__":
    manager()
