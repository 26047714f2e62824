from kafkapy.consumer.assignors.range import RangePartitionAssignor

__all__ = ["RangePartitionAssignor"]
