"""The sink of the message store: confirmed messages of QoS 1 and 2 from `tbmq.msg.all` into SQL.

rows  what is stored of a record
job   the process
"""
