"""Principal builders of the operator's own."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.network.request import RequestContext
from kafkapy.security.principal import ANONYMOUS, KafkaPrincipal
from kafkapy.security.principal_builder import AuthenticationContext, DefaultPrincipalBuilder, PrincipalBuilder
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.security.principal_builders import (
    authentication_context,
    make_plaintext_principal,
    make_principal_builder,
)


class ByAddress(PrincipalBuilder):
    def configure(self, configs: Any) -> None:
        self.prefix = configs["my.prefix"]
        assert configs["broker.id"] == 7

    def build(self, context: AuthenticationContext) -> KafkaPrincipal:
        return KafkaPrincipal("Host", f"{self.prefix}{context.client_host}-{context.listener_name}")


class OwnOfTests(DefaultPrincipalBuilder):
    pass


class NoBuilder:
    pass


def config(path: str | None, **more: str) -> KafkaConfig:
    properties = {"zookeeper.connect": "z:1", "broker.id": "7", "my.prefix": "at-", **more}
    if path is not None:
        properties["principal.builder.class"] = path
    return KafkaConfig.from_properties(properties)


def test_kafkas_own_needs_nothing_for_plaintext() -> None:
    assert make_plaintext_principal(config(None)) is None
    assert type(make_principal_builder(config(None), "PLAINTEXT")) is DefaultPrincipalBuilder


def test_plaintext_connections_are_named_too() -> None:
    principal_of = make_plaintext_principal(config(f"{__name__}:ByAddress"))
    assert principal_of is not None
    assert str(principal_of(RequestContext("c", "/10.0.0.7", "PLAINTEXT"))) == "Host:at-10.0.0.7-PLAINTEXT"
    assert str(principal_of(RequestContext("c", "/10.0.0.7", "LATER"))) == "Host:at-10.0.0.7-LATER"


def test_one_derived_from_kafkas_own_has_its_rules() -> None:
    of_listener = {"listener.name.ssl.ssl.principal.mapping.rules": "RULE:^CN=(.*?),.*$/$1/U"}
    builder = make_principal_builder(config(f"{__name__}.OwnOfTests", **of_listener), "SSL")
    assert isinstance(builder, OwnOfTests)
    context = authentication_context(RequestContext("c", "/10.0.0.7", "SSL", "SSL"))
    assert builder.build(context) == ANONYMOUS
    assert builder._mapper.name_of("CN=alice,O=x") == "ALICE"


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("no.such.module.Class", r"Class no\.such\.module\.Class could not be found: .* ModuleNotFoundError"),
        (
            f"{__name__}.NoBuilder",
            r"is not a class derived from kafkapy\.security\.principal_builder\.PrincipalBuilder",
        ),
    ],
)
def test_what_cannot_be_used(path: str, reason: str) -> None:
    with pytest.raises(ConfigException, match=f"for configuration principal.builder.class: .*{reason}"):
        make_principal_builder(config(path), "SSL")
