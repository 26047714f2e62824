"""Random requests, the same to Apache Kafka and to kafkapy, whose answers are compared: see `test_beside_apache.py`."""
