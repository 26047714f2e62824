from kafkapy.consumer.assignors.abstract import AbstractPartitionAssignor

__all__ = ["AbstractPartitionAssignor"]
