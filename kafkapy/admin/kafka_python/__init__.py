"""Administration with kafka-python's names, arguments and answers: `core.KafkaPythonCore` and what it is made of."""
