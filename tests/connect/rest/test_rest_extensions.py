"""Basic authentication by Kafka's extension, and the TLS settings of requests between workers."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.rest.rest_extensions import BASIC_AUTH_EXTENSION, PasswordFileAuth
from kafkapy.connect.rest.rest_listeners import ConnectRestConfig, worker_tls
from kafkapy.connect.rest.routing import RestRequest
from kafkapy.http.messages import HttpRequest

MODULE = "org.apache.kafka.connect.rest.basic.auth.extension.PropertyFileLoginModule"
PROPERTIES = {"rest.extension.classes": BASIC_AUTH_EXTENSION}


def jaas(folder: Path, module: str = MODULE, users: str = "alice: secret") -> dict[str, str]:
    (folder / "users").write_text(users)
    (folder / "jaas").write_text(f'KafkaConnect {{ {module} required file="{folder / "users"}"; }};')
    return {"java.security.auth.login.config": str(folder / "jaas")}


def asked(method: str, path: str, user: str | None = None) -> RestRequest:
    headers = {} if user is None else {"authorization": "Basic " + base64.b64encode(user.encode()).decode()}
    parts = tuple(path.strip("/").split("/"))
    return RestRequest(HttpRequest(method, path, parts, {}, headers, b""), {}, {})


def test_a_user_needs_the_password_of_the_file(tmp_path: Path) -> None:
    auth = PasswordFileAuth.of(PROPERTIES, jaas(tmp_path))
    assert auth is not None
    assert auth.refusal(asked("GET", "/connectors", "alice:secret")) is None
    for user in (None, "alice:wrong", "bob:secret", "alice"):
        refused = auth.refusal(asked("GET", "/connectors", user))
        assert refused is not None
        assert (refused.status, refused.body) == (401, b"User cannot access the resource.")


def test_requests_between_workers_need_no_password(tmp_path: Path) -> None:
    auth = PasswordFileAuth.of(PROPERTIES, jaas(tmp_path))
    assert auth is not None
    assert auth.refusal(asked("POST", "/connectors/c/tasks")) is None
    assert auth.refusal(asked("PUT", "/connectors/c/fence")) is None
    assert auth.refusal(asked("GET", "/connectors/c/tasks")) is not None


def test_an_empty_file_permits_all_requests(tmp_path: Path) -> None:
    auth = PasswordFileAuth.of(PROPERTIES, jaas(tmp_path, users=""))
    assert auth is not None
    assert auth.refusal(asked("GET", "/connectors")) is None


def test_without_an_extension_there_is_no_authentication() -> None:
    assert PasswordFileAuth.of({}, {}) is None


@pytest.mark.parametrize("extension", ["com.example.Audit", BASIC_AUTH_EXTENSION])
def test_unknown_extensions_and_a_missing_section_are_refused(extension: str) -> None:
    with pytest.raises(ConfigException):
        PasswordFileAuth.of({"rest.extension.classes": extension}, {})


def test_another_login_module_is_refused_without_its_options(tmp_path: Path) -> None:
    with pytest.raises(ConfigException) as raised:
        PasswordFileAuth.of(PROPERTIES, jaas(tmp_path, "com.example.Ldap"))
    assert "com.example.Ldap" in str(raised.value)
    assert "users" not in str(raised.value)


def test_the_listeners_prefix_replaces_all_tls_configs() -> None:
    properties = {
        "listeners": "https://:0",
        "ssl.keystore.location": "/clients.p12",
        "listeners.https.ssl.protocol": "TLS",
    }
    with pytest.raises(ConfigException, match=r"ssl\.keystore\.location is missing"):
        ConnectRestConfig.of(properties)
    assert worker_tls(properties) is None
