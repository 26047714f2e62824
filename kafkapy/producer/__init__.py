"""The producer (kafka-python's `kafka.producer`)."""

from kafkapy.producer.future import BatchMetadata, FutureBatchMetadata, FutureRecordMetadata, RecordMetadata
from kafkapy.producer.kafka_producer import KafkaProducer

__all__ = ["BatchMetadata", "FutureBatchMetadata", "FutureRecordMetadata", "KafkaProducer", "RecordMetadata"]
