"""What a gateway tells operators of itself: metrics and health.

Nothing here is on a message's way: what is counted is counted anyhow, and read when somebody asks.
"""
