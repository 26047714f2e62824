"""The consumers' assignors by kafka-python's import paths; the code is in `kafkapy.consumer.assignors`.

The broker's group coordinator, in the neighbouring package, does not use them: assignments are opaque to it.
"""
