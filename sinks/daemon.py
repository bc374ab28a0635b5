"""The process that Spark forks the sinks' Python workers from (spark.python.daemon.module).

It has loaded what folding and appending need. So a worker is ready as soon as it is forked, and all workers share that
memory, whichever sink they work for.

No thread may run before the fork: these imports start none.
"""

import pyspark.worker
from pyspark.daemon import manager

import sinks.appending
import sinks.persisted.folding
import stores.log_positions

__all__ = ["pyspark", "sinks", "stores"]

if __name__ == "__main__":
    manager()
