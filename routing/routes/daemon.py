"""The process that Spark forks its Python workers from (spark.python.daemon.module).

It has loaded what the readers of the route table need. So a worker is ready as soon as it is forked, which counts at
each batch's start because Spark ends workers that were idle for a minute; and all workers share that memory.

No thread may run before the fork: these imports start none.
"""

import pyspark.worker
from pyspark.daemon import manager

import routing.routes.partition

__all__ = ["pyspark", "routing"]

if __name__ == "__main__":
    manager()
