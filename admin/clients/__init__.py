"""The cluster's MQTT clients as the administration sees and changes them: by Kafka topics and stores alone.

A view in this process follows the compacted topics of sessions, subscriptions and retained messages; commands go to
the sessions' owners; messages are published by the timekeepers. No gateway is ever spoken to, so it works with any
number of them.
"""
