"""The requests whose changes are audited: of ACLs, users, quotas, configs, tokens, topics.

Values of configs are recorded if the config is known not to be secret; passwords, salts and HMACs of tokens never are.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterator, Mapping
from typing import Any, Final

from kafkapy.common.acl_types import ACLOperation, ACLPermissionType, ACLResourcePatternType, ResourceType, from_code
from kafkapy.common.wire_enums import AlterConfigOp, ConfigResourceType
from kafkapy.log.log_config import LogConfig
from kafkapy.network.request import Request
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.message import Message
from kafkapy.runtime.clock import Clock
from kafkapy.security.delegation_tokens import TokenInformation
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.config.config_resource import resource_type_of
from kafkapy.server.config.dynamic_config_rules import broker_config_key
from kafkapy.server.security.audit.audit_records import AuditedSender, Changed

HIDDEN: Final = "[hidden]"
_MECHANISMS: Final = {1: "SCRAM-SHA-256", 2: "SCRAM-SHA-512"}
_AT_ONCE: Final = 100

Describe = Callable[[Any, Any], Iterator[Changed]]
Report = Callable[[AuditedSender, Changed], object]
TokenOfHmac = Callable[[bytes], TokenInformation | None]
Identify = Callable[[Any], dict[str, Any]]
"""Body of a request -> its subject, if the body identifies that by a secret."""
AnyHandler = Callable[[Request], Any]


def audited_handlers(
    handlers: Mapping[ApiKey, AnyHandler], report: Report, token_of: TokenOfHmac, clock: Clock
) -> dict[ApiKey, Any]:
    """Return the handlers, with those that make changes wrapped to report them.

    Args:
        handlers: API -> its handler.
        report: Called with each change when the handler has made or refused it.
        token_of: Returns the delegation token of an HMAC.
        clock: For yielding, because a request may make thousands of changes.
    """

    def token(body: Any) -> dict[str, Any]:
        found = token_of(bytes(body.hmac))
        return {} if found is None else {"token_id": found.token_id, "owner": str(KafkaPrincipal(*found.owner))}

    audited = dict(handlers)
    for api_key, describe in _CHANGES.items():
        if api_key in audited:
            identify = token if api_key in _NAMED_BY_HMAC else _nothing
            audited[api_key] = _AuditedHandler(audited[api_key], identify, describe, report, clock)
    return audited


class _AuditedHandler:
    """Wraps a handler, and reports the changes that its response lists."""

    def __init__(
        self, handler: AnyHandler, identify: Identify, describe: Describe, report: Report, clock: Clock
    ) -> None:
        self._handler = handler
        self._identify = identify
        self._describe = describe
        self._report = report
        self._clock = clock

    def __call__(self, request: Request) -> Coroutine[Any, Any, Message | None]:
        return self._handle(request, AuditedSender.of(request.context))

    async def _handle(self, request: Request, sender: AuditedSender) -> Message | None:
        body = request.body
        subject = self._identify(body)  # before the handler removes it
        try:
            answer = self._handler(request)
            response: Message | None = answer if answer is None or isinstance(answer, Message) else await answer
        except Exception as error:
            name = error.error.name if isinstance(error, KafkaError) else type(error).__name__
            self._report(sender, Changed(request.api_key.title, name, subject))
            raise
        if response is None or getattr(body, "validate_only", False):
            return response
        for number, change in enumerate(self._describe(body, response), 1):
            self._report(sender, change._replace(what={**subject, **change.what}) if subject else change)
            if number % _AT_ONCE == 0:
                await self._clock.checkpoint()
        return response


def _nothing(_: Any) -> dict[str, Any]:
    return {}


def _error(code: int) -> str:
    return Errors.for_code(code).name


def _acl(acl: Any, pattern_type: int) -> dict[str, Any]:
    return {
        "resource_type": from_code(ResourceType, acl.resource_type).name,
        "resource": acl.resource_name,
        "pattern_type": from_code(ACLResourcePatternType, pattern_type).name,
        "for_principal": acl.principal,
        "for_host": acl.host,
        "operation": from_code(ACLOperation, acl.operation).name,
        "permission": from_code(ACLPermissionType, acl.permission_type).name,
    }


def _created_acls(body: Any, response: Any) -> Iterator[Changed]:
    for creation, result in zip(body.creations, response.results, strict=False):
        yield Changed("CreateAcl", _error(result.error_code), _acl(creation, creation.resource_pattern_type))


def _deleted_acls(body: Any, response: Any) -> Iterator[Changed]:
    for result in response.filter_results:
        if result.error_code:
            yield Changed("DeleteAcl", _error(result.error_code), {})
        for acl in result.matching_acls:
            yield Changed("DeleteAcl", _error(acl.error_code), _acl(acl, acl.pattern_type))


def _altered_scram_users(body: Any, response: Any) -> Iterator[Changed]:
    errors = {result.user: _error(result.error_code) for result in response.results}
    for change, users in (("SetScramCredential", body.upsertions), ("DeleteScramCredential", body.deletions)):
        for user in users:
            what = {"user": user.name, "credential": _MECHANISMS.get(user.mechanism, "UNKNOWN")}
            if change == "SetScramCredential":
                what["iterations"] = user.iterations
            yield Changed(change, errors.get(user.name, "NONE"), what)


def _altered_quotas(body: Any, response: Any) -> Iterator[Changed]:
    for entry, result in zip(body.entries, response.entries, strict=False):
        entity = {
            part.entity_type: "<default>" if part.entity_name is None else part.entity_name for part in entry.entity
        }
        quotas = {op.key: None if op.remove else op.value for op in entry.ops}
        yield Changed("AlterClientQuota", _error(result.error_code), {"entity": entity, "quotas": quotas})


def _altered_configs(body: Any, response: Any) -> Iterator[Changed]:
    for resource, result in zip(body.resources, response.responses, strict=False):
        kind = resource_type_of(resource.resource_type)
        what = {
            "resource_type": kind.name,
            "resource": resource.resource_name or "<default>",
            "configs": {config.name: _operation(kind, config) for config in resource.configs},
        }
        yield Changed("AlterConfigs", _error(result.error_code), what)


def _operation(kind: ConfigResourceType, config: Any) -> dict[str, Any]:
    code = getattr(config, "config_operation", int(AlterConfigOp.SET))
    operation = AlterConfigOp(code).name if code in tuple(AlterConfigOp) else "UNKNOWN"
    if operation == "DELETE":
        return {"op": operation}
    return {"op": operation, "value": config.value if _may_be_shown(kind, config.name) else HIDDEN}


def _may_be_shown(kind: ConfigResourceType, name: str) -> bool:
    match kind:
        case ConfigResourceType.BROKER_LOGGER:
            return True
        case ConfigResourceType.TOPIC:
            key = LogConfig.definition.get(name)
        case ConfigResourceType.BROKER:
            key = broker_config_key(name)
        case _:
            return False
    return key is not None and key.type.name != "PASSWORD"


def _created_token(body: Any, response: Any) -> Iterator[Changed]:
    what = {
        "token_id": response.token_id,
        "owner": str(KafkaPrincipal(response.principal_type, response.principal_name)),
        "renewers": ";".join(f"{each.principal_type}:{each.principal_name}" for each in body.renewers),
        "expires_ms": response.expiry_timestamp_ms,
        "ends_ms": response.max_timestamp_ms,
    }
    error = _error(response.error_code)
    yield Changed("CreateDelegationToken", error, what if error == "NONE" else {})


def _renewed_token(body: Any, response: Any) -> Iterator[Changed]:
    yield Changed("RenewDelegationToken", _error(response.error_code), _expiry(response))


def _expired_token(body: Any, response: Any) -> Iterator[Changed]:
    yield Changed("ExpireDelegationToken", _error(response.error_code), _expiry(response))


def _expiry(response: Any) -> dict[str, Any]:
    return {} if response.error_code else {"expires_ms": response.expiry_timestamp_ms}


def _created_topics(body: Any, response: Any) -> Iterator[Changed]:
    for topic in response.topics:
        yield Changed("CreateTopic", _error(topic.error_code), {"topic": topic.name})


def _deleted_topics(body: Any, response: Any) -> Iterator[Changed]:
    for topic in response.responses:
        what = {"topic": topic.name} if topic.name is not None else {"topic_id": topic.topic_id.hex()}
        yield Changed("DeleteTopic", _error(topic.error_code), what)


def _created_partitions(body: Any, response: Any) -> Iterator[Changed]:
    counts = {topic.name: topic.count for topic in body.topics}
    for topic in response.results:
        what = {"topic": topic.name, "partitions": counts.get(topic.name)}
        yield Changed("CreatePartitions", _error(topic.error_code), what)


_NAMED_BY_HMAC: Final = frozenset({ApiKey.RENEW_DELEGATION_TOKEN, ApiKey.EXPIRE_DELEGATION_TOKEN})
_CHANGES: Final[dict[ApiKey, Describe]] = {
    ApiKey.CREATE_ACLS: _created_acls,
    ApiKey.DELETE_ACLS: _deleted_acls,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: _altered_scram_users,
    ApiKey.ALTER_CLIENT_QUOTAS: _altered_quotas,
    ApiKey.ALTER_CONFIGS: _altered_configs,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: _altered_configs,
    ApiKey.CREATE_DELEGATION_TOKEN: _created_token,
    ApiKey.RENEW_DELEGATION_TOKEN: _renewed_token,
    ApiKey.EXPIRE_DELEGATION_TOKEN: _expired_token,
    ApiKey.CREATE_TOPICS: _created_topics,
    ApiKey.DELETE_TOPICS: _deleted_topics,
    ApiKey.CREATE_PARTITIONS: _created_partitions,
}
