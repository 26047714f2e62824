"""The module in which kafka-python has its producer."""

from kafkapy.producer.kafka_producer import KafkaProducer

__all__ = ["KafkaProducer"]
