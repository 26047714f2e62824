from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from kafkapy.common.acl_types import (
    AccessControlEntry,
    AclBinding,
    AclBindingFilter,
    ACLOperation,
    AclPattern,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourceType,
)
from kafkapy.common.config_def import ConfigException
from kafkapy.common.time import MockTime
from kafkapy.network.request import RequestContext
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.server.authorizer import AllowAll, Authorizer
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.security.acl_authorizer import AclAuthorizer
from kafkapy.server.security.authorizer_factory import ACL_AUTHORIZER, build_authorizer
from kafkapy.zk.kafka_zk_client import KafkaZkClient

CONTEXT = RequestContext("c", "/10.0.0.1", "PLAINTEXT", principal=KafkaPrincipal("User", "admin"))


class Configured(Authorizer):
    def configure(self, configs: Mapping[str, str]) -> None:
        self.only = configs["my.topic"]

    def authorize(
        self,
        context: RequestContext,
        operation: ACLOperation,
        resource_type: ResourceType,
        name: str,
        **options: object,
    ) -> bool:
        return name == self.only


NO_AUTHORIZER = 7


def build(zk_client: Any = None, **properties: str) -> Authorizer:
    given = {name.replace("_", "."): value for name, value in properties.items()}
    config = KafkaConfig.from_properties({"zookeeper.connect": "unused:1", **given})
    return build_authorizer(config, zk_client, MockTime())


def test_without_a_class_everything_is_allowed() -> None:
    assert isinstance(build(), AllowAll)


def test_kafkas_class_takes_its_configs() -> None:
    authorizer = build(
        authorizer_class_name=ACL_AUTHORIZER,
        super_users="User:admin;User:CN=a,O=b",
        allow_everyone_if_no_acl_found="true",
    )
    assert isinstance(authorizer, AclAuthorizer)
    for name, rule in (("admin", "SuperUser"), ("CN=a,O=b", "SuperUser"), ("x", "DefaultAllow")):
        assert (
            authorizer.decision(KafkaPrincipal("User", name), "h", ACLOperation.READ, ResourceType.TOPIC, "t").rule
            == rule
        )


@pytest.mark.parametrize("separator", [".", ":"])
def test_one_of_ones_own_is_imported_and_configured(separator: str) -> None:
    authorizer = build(authorizer_class_name=f"{__name__}{separator}Configured", my_topic="t")
    assert authorizer.authorize(CONTEXT, ACLOperation.READ, ResourceType.TOPIC, "t")
    assert not authorizer.authorize(CONTEXT, ACLOperation.READ, ResourceType.TOPIC, "u")


@pytest.mark.parametrize(
    "class_name",
    [
        "Authorizer",
        "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        f"{__name__}.Missing",
        f"{__name__}.NO_AUTHORIZER",
        f"{__name__}.ResourceType",
    ],
)
def test_what_is_no_authorizer_is_refused(class_name: str) -> None:
    with pytest.raises(ConfigException, match=r"for configuration authorizer\.class\.name"):
        build(authorizer_class_name=class_name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("super.users", "admin"),
        ("allow.everyone.if.no.acl.found", "perhaps"),
        ("authorizer.zookeeper.session.timeout.ms", "soon"),
    ],
)
def test_wrong_values_are_refused(name: str, value: str) -> None:
    properties = {"authorizer.class.name": ACL_AUTHORIZER, "authorizer.zookeeper.url": "z:1", name: value}
    with pytest.raises(ConfigException, match=name):
        build(**properties)


def test_prefixes_need_brokers_that_know_them() -> None:
    pattern = AclPattern(ResourceType.TOPIC, "t", ACLResourcePatternType.PREFIXED)
    entry = AccessControlEntry("User:a", "*", ACLOperation.READ, ACLPermissionType.ALLOW)
    client = SimpleNamespace(time_limit=lambda timeout_ms: nullcontext())
    old = build(client, authorizer_class_name=ACL_AUTHORIZER, inter_broker_protocol_version="1.1")
    assert "2.0-IV1" in (old.create_acls(CONTEXT, [AclBinding(pattern, entry)])[0].message or "")


@pytest.mark.integration
def test_acls_may_have_a_zookeeper_of_their_own(zk_connect: str) -> None:
    authorizer = build(
        **{
            "authorizer.class.name": ACL_AUTHORIZER,
            "authorizer.zookeeper.url": zk_connect,
            "authorizer.zookeeper.session.timeout.ms": "6000",
        }
    )
    authorizer.startup()
    pattern = AclPattern(ResourceType.TOPIC, "t")
    entry = AccessControlEntry("User:a", "*", ACLOperation.READ, ACLPermissionType.ALLOW)
    assert authorizer.create_acls(CONTEXT, [AclBinding(pattern, entry)])[0].code == 0
    assert list(authorizer.acls(AclBindingFilter())) == [AclBinding(pattern, entry)]
    authorizer.shutdown()
    client = KafkaZkClient.connect(zk_connect, 6000)
    assert client.path_exists("/kafka-acl/Topic/t")
    client.close()


def test_one_without_acls_may_be_asked_by_resource_type() -> None:
    assert not _only("orders").authorize_by_resource_type(CONTEXT, ACLOperation.WRITE, ResourceType.TOPIC)
    assert _only("hardcode").authorize_by_resource_type(CONTEXT, ACLOperation.WRITE, ResourceType.TOPIC)


def _only(topic: str) -> Configured:
    authorizer = Configured()
    authorizer.configure({"my.topic": topic})
    return authorizer
