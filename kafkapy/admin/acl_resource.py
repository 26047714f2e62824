"""The module in which kafka-python 2 has the ACL classes."""

from kafkapy.admin.acl_types import ACL as ACL
from kafkapy.admin.acl_types import ACLFilter as ACLFilter
from kafkapy.admin.acl_types import ACLOperation as ACLOperation
from kafkapy.admin.acl_types import ACLPermissionType as ACLPermissionType
from kafkapy.admin.acl_types import ACLResourcePatternType as ACLResourcePatternType
from kafkapy.admin.acl_types import ResourcePattern as ResourcePattern
from kafkapy.admin.acl_types import ResourcePatternFilter as ResourcePatternFilter
from kafkapy.admin.acl_types import ResourceType as ResourceType
