"""The wire between a test's process and the servers it has started, and what it may order through it.

A server that was started with `KAFKAPY_CONTROL` in its environment imports `broker_control`; no other does.
"""
