"""Limits: how much a client, an address or all of them together may do in a time, and how many sessions there may be.

What counts is pure: whoever asks tells the time. Where nothing is limited, nothing of it is made, and nobody asks.
"""
