"""The sink of `tbmq.msg.persisted`: messages for persistent clients minus acknowledgements, into the store.

log        Kafka as Spark reads it, from the store's positions
records    Arrow rows as the contracts' messages and events
folding    one Kafka partition of a batch: fold, then one transaction of the store (runs in Spark's Python workers)
outcomes   what a fold tells the driver
batches    a whole batch, until all of it is in the store (runs in the driver)
progress   counters, and the log line about them
"""
