"""What configs, system properties and the JAAS file ask for on the way to ZooKeeper."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.common.java_options import system_properties
from kafkapy.zk.client_security import ZkClientSecurity, require_servable, security_of_broker, security_of_tool
from kafkapy.zk.znode_acls import CREATOR_ALL_ACL, OPEN_ACL, READ_ACL, default_acls
from tests.security.tls import pki

NETTY = "org.apache.zookeeper.ClientCnxnSocketNetty"
JAAS = 'Client { org.apache.zookeeper.server.auth.DigestLoginModule required username="kafka" password="pw"; };'


@pytest.fixture
def tls(tmp_path: Path) -> dict[str, str]:
    ca, store = tmp_path / "ca.pem", tmp_path / "client.pem"
    ca.write_text(pki.authority().certificate)
    store.write_text(pki.credential().store)
    return {
        "zookeeper.ssl.client.enable": "true",
        "zookeeper.clientCnxnSocket": NETTY,
        "zookeeper.ssl.truststore.location": str(ca),
        "zookeeper.ssl.keystore.location": str(store),
    }


def jaas(tmp_path: Path, text: str = JAAS) -> dict[str, str]:
    file = tmp_path / "jaas.conf"
    file.write_text(text)
    return {"java.security.auth.login.config": str(file)}


def test_nothing_asked_for() -> None:
    security = security_of_broker({}, {})
    assert (security.tls, security.user, security.is_authenticated) == (None, None, False)
    assert security.tls_context() is None
    assert security.new_exchange() is None
    assert security.to_text() == ""


def test_tls_of_the_configs(tls: dict[str, str]) -> None:
    security = security_of_broker(tls, {})
    assert security.tls is not None
    assert security.is_authenticated
    assert security.tls["ssl.enabled.protocols"] == "TLSv1.2"
    assert security.tls["ssl.keystore.type"] == "PEM"
    assert security.tls_context() is not None


def test_system_properties_hold_where_no_config_is(tls: dict[str, str]) -> None:
    system = {
        "zookeeper.client.secure": "true",
        "zookeeper.clientCnxnSocket": NETTY,
        "zookeeper.ssl.trustStore.location": tls["zookeeper.ssl.truststore.location"],
        "zookeeper.ssl.hostnameVerification": "false",
        "zookeeper.ssl.enabledProtocols": "TLSv1.3",
    }
    security = security_of_tool(None, system)
    assert security.tls is not None
    assert not security.is_authenticated
    assert security.tls["ssl.endpoint.identification.algorithm"] == ""
    overridden = security_of_broker({"zookeeper.ssl.enabled.protocols": "TLSv1.2,TLSv1.3"}, system)
    assert overridden.tls is not None
    assert overridden.tls["ssl.enabled.protocols"] == "TLSv1.2,TLSv1.3"


def test_configs_of_the_authorizer_hold_before_the_brokers(tls: dict[str, str]) -> None:
    prefixed = {"authorizer.zookeeper.ssl.protocol": "TLSv1.3"}
    security = security_of_broker({**tls, **prefixed}, {}, prefix="authorizer.")
    assert security.tls is not None
    assert security.tls["ssl.enabled.protocols"] == "TLSv1.3"
    off = {**tls, "authorizer.zookeeper.ssl.client.enable": "false"}
    assert security_of_broker(off, {}, prefix="authorizer.").tls is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"zookeeper.clientCnxnSocket": "org.apache.zookeeper.ClientCnxnSocketNIO"}, "would speak plaintext"),
        ({"zookeeper.ssl.crl.enable": "true"}, "crl=true cannot be served"),
        ({"zookeeper.ssl.ocsp.enable": "true"}, "ocsp=true cannot be served"),
        ({"zookeeper.ssl.truststore.location": "/none.jks"}, "/none.jks"),
        ({"zookeeper.ssl.truststore.location": "/none"}, "trustStore.type is not set"),
        ({"zookeeper.ssl.keystore.type": "BCFKS"}, "JKS, PKCS12 and PEM"),
        ({"zookeeper.ssl.protocol": "TLSv9"}, "TLSv9"),
    ],
)
def test_what_cannot_be_served_is_refused(tls: dict[str, str], change: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigException, match=sentence):
        security_of_broker({**tls, **change}, {})


def test_the_user_of_the_jaas_file(tmp_path: Path) -> None:
    security = security_of_broker({}, jaas(tmp_path))
    assert security.user == "kafka"
    assert security.is_authenticated
    assert "pw" not in repr(security)
    other = JAAS.replace("Client", "Zk")
    assert security_of_broker({}, {**jaas(tmp_path, other), "zookeeper.sasl.clientconfig": "Zk"}).user == "kafka"
    assert security_of_broker({}, jaas(tmp_path, other)).user is None


@pytest.mark.parametrize(
    ("text", "properties", "sentence"),
    [
        (JAAS, {"zookeeper.sasl.client": "false"}, "zookeeper.sasl.client is false"),
        ("Client { com.sun.security.auth.module.Krb5LoginModule required; };", {}, "DIGEST-MD5"),
        (JAAS.replace("password", "pass"), {}, "needs username and password"),
        ("Client {", {}, "jaas.conf"),
    ],
)
def test_jaas_files_that_cannot_be_used(tmp_path: Path, text: str, properties: dict[str, str], sentence: str) -> None:
    with pytest.raises(ConfigException, match=sentence):
        security_of_broker({}, {**jaas(tmp_path, text), **properties})


def test_access_lists_need_a_client_that_is_known(tmp_path: Path, tls: dict[str, str]) -> None:
    require_servable({}, True, False, jaas(tmp_path))
    require_servable(tls, True, False, {})
    with pytest.raises(ConfigException, match="is true, but ZooKeeper client TLS"):
        require_servable({}, True, False, {})
    with pytest.raises(ConfigException, match="has no TLS"):
        require_servable(tls, False, True, {})


def test_another_process_gets_all_of_it(tmp_path: Path, tls: dict[str, str]) -> None:
    security = security_of_broker(tls, jaas(tmp_path))
    there = ZkClientSecurity.from_text(security.to_text())
    assert there.tls == security.tls
    assert there.user == "kafka"


@pytest.mark.parametrize(
    ("path", "acls"),
    [
        ("/consumers", OPEN_ACL),
        ("/brokers/ids/1", CREATOR_ALL_ACL + READ_ACL),
        ("/config/users", CREATOR_ALL_ACL),
        ("/config/users/alice", CREATOR_ALL_ACL),
        ("/config/brokers/0", CREATOR_ALL_ACL),
        ("/delegation_token/tokens/x", CREATOR_ALL_ACL),
        ("/delegation_token/token_changes", CREATOR_ALL_ACL + READ_ACL),
    ],
)
def test_access_lists_of_znodes(path: str, acls: object) -> None:
    assert default_acls(True, path) == acls
    assert default_acls(False, path) == OPEN_ACL


def test_java_options() -> None:
    text = "-Xmx1G -Da=1 '-Db=two words' -Da=2 -Dc"
    assert system_properties({"KAFKA_OPTS": text}) == {"a": "2", "b": "two words", "c": ""}
    assert system_properties({}) == {}
    with pytest.raises(ValueError, match="a quote that is not closed"):
        system_properties({"KAFKA_OPTS": "-Da='secret"})
