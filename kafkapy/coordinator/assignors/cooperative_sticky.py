from kafkapy.consumer.assignors.sticky import CooperativeStickyAssignor

__all__ = ["CooperativeStickyAssignor"]
