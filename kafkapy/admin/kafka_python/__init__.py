"""Administration with kafka-python's names, arguments and results: `core.KafkaPythonCore` and its base classes."""
