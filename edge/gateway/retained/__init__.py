"""Retained messages: the view of `tbmq.msg.retained` that every gateway keeps, and what subscribers get of it (I9).

topic_index  topics by the names of their levels, for wildcards
view         which record of a topic counts, and what has expired
tail         reads the log into the view, and has it put right
writing      appends records, in the order of the publishes
order        what the live path has brought, so that retained and live never go backwards
newcomers    subscriptions that a publish may have missed
copies       sends copies to one connection as it takes them
keeping      appends copies for sessions that outlive their connection
reading      one filter's copies, found bit by bit
retention    all of it put together
"""
