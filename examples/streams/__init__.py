"""Applications of Streams.

Each module has a `topology`: `bin/kafkapy-streams.sh run examples.streams.word_count:topology` runs it.
"""
