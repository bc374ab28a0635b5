"""The sink of `tbmq.msg.persisted`: messages for persistent clients minus acknowledgements, into the store.

records      Arrow rows as the contracts' messages and events
folding      one Kafka partition of a batch: fold, then one transaction of the store (runs in Spark's Python workers)
store        how to open the store, and to wait for it
destination  the store as the supervisor sees it
"""
