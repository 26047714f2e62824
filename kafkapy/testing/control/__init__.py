"""The control connection between a test's process and the servers that it has started, and the commands it can send.

A server that was started with `KAFKAPY_CONTROL` in its environment imports `broker_control`; no other does.
"""
