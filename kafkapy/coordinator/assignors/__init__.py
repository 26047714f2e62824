"""The consumers' assignors under the names that kafka-python has for them; they live in `kafkapy.consumer.assignors`.

The broker's group coordinator, beside which this package lies, never looks into an assignment.
"""
