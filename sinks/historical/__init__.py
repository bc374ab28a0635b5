"""The sink of statistics: what gateways have counted, from `tbmq.sys.historical.data` into SQL.

rows  what is stored of a record
job   the process
"""
