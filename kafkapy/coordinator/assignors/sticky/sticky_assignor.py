from kafkapy.consumer.assignors.sticky import StickyPartitionAssignor

__all__ = ["StickyPartitionAssignor"]
