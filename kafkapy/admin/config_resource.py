"""The module in which kafka-python 2 has `ConfigResource`."""

from kafkapy.admin.types import ConfigResource
from kafkapy.common.wire_enums import ConfigResourceType

__all__ = ["ConfigResource", "ConfigResourceType"]
