"""The core's operations as methods of the tools' client. Type checkers and editors use the stub generated beside it.

An operation's module, with its messages, is imported at its first call, because a tool needs few operations and must
start quickly.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import Any

from kafkapy.admin.router import Router
from kafkapy.clients.list_arguments import check_lists
from kafkapy.clients.network_client import NetworkClient

_AREAS = {
    "acls": "create_acls delete_acls describe_acls",
    "cluster": "api_versions describe_cluster",
    "configs": "alter_configs describe_configs incremental_alter_configs",
    "group_offsets": "alter_group_offsets delete_group_offsets list_group_offsets",
    "groups": "delete_groups describe_groups list_groups remove_group_members",
    "partitions": "delete_records list_offsets",
    "quotas": "alter_client_quotas describe_client_quotas",
    "replicas": "alter_partition_reassignments alter_replica_log_dirs describe_log_dirs describe_replica_log_dirs "
    "elect_leaders list_partition_reassignments",
    "tokens": "create_delegation_token describe_delegation_token expire_delegation_token renew_delegation_token",
    "topics": "create_partitions create_topics delete_topics describe_topic_ids describe_topics list_topics",
    "transactions": "abort_transaction describe_producers describe_transactions list_transactions",
    "users": "alter_user_scram_credentials describe_user_scram_credentials",
}
"""Module -> operations."""

AREA_OF = {name: area for area, names in _AREAS.items() for name in names.split()}


class TypedMethods:
    """The methods of `AdminClient`."""

    _client: NetworkClient
    default_api_timeout_ms: int

    def __init__(self) -> None:
        self._areas: dict[str, Router] = {}

    def _run(self, operation: Any) -> Any:
        """Run a coroutine function over completions; return its result."""
        raise NotImplementedError

    def __getattr__(self, name: str) -> Any:
        area = AREA_OF.get(name)
        if area is None:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return partial(self._call, area, name)

    def _call(self, area: str, name: str, *args: Any, **kwargs: Any) -> Any:
        operations = self._areas.get(area)
        if operations is None:
            module = import_module(f"kafkapy.admin.{area}")
            made: type[Router] = next(c for n, c in vars(module).items() if n.endswith("Operations"))
            operations = self._areas[area] = made(self._client, self.default_api_timeout_ms)
        operation = getattr(operations, name)
        check_lists(operation, args, kwargs)
        return self._run(partial(operation, *args, **kwargs))
