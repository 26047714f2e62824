"""Tools that ask a broker behind TLS and SASL, by Kafka's own configs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from kafkapy.protocol.messages.sasl_handshake import SaslHandshakeResponse
from kafkapy.tools import broker_api_versions
from kafkapy.tools.topics import topics
from tests.tls_broker import TlsBroker, make_certificate

CONFIGS = """
security.protocol=SASL_SSL
ssl.truststore.type=PEM
ssl.truststore.location={certificate}
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="alice" password="{password}";
"""


class SaslBroker(TlsBroker):
    """Lets alice in, by PLAIN."""

    def __init__(self, certificate: tuple[Path, Path]) -> None:
        super().__init__(certificate)
        self.handlers[ApiKey.SASL_HANDSHAKE] = lambda request: SaslHandshakeResponse(mechanisms=["PLAIN"])
        self.handlers[ApiKey.SASL_AUTHENTICATE] = self.authenticate

    def authenticate(self, request: Any) -> SaslAuthenticateResponse:
        if bytes(request.auth_bytes) == b"\0alice\0secret":
            return SaslAuthenticateResponse()
        return SaslAuthenticateResponse(error_code=58, error_message="Invalid username or password")


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_certificate(tmp_path_factory.mktemp("tls"))


@pytest.fixture
def broker(certificate: tuple[Path, Path]) -> Iterator[SaslBroker]:
    with SaslBroker(certificate) as broker:
        yield broker


def arguments(broker: SaslBroker, directory: Path, certificate: tuple[Path, Path], password: str) -> list[str]:
    configs = directory / "client.properties"
    configs.write_text(CONFIGS.format(certificate=certificate[0], password=password))
    return ["--bootstrap-server", broker.address, "--command-config", str(configs)]


def test_tls_and_sasl(
    broker: SaslBroker, certificate: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = arguments(broker, tmp_path, certificate, "secret")
    assert topics.main([*given, "--list"]) == 0
    assert broker_api_versions.main(given) == 0
    assert f"127.0.0.1:{broker.port} (id: 0" in capsys.readouterr().out


def test_a_wrong_password_is_told_at_once(
    broker: SaslBroker, certificate: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert topics.main([*arguments(broker, tmp_path, certificate, "wrong"), "--list"]) == 1
    assert capsys.readouterr().err == "Error while executing topic command : Invalid username or password\n"


def test_what_cannot_be_done_is_refused(
    broker: SaslBroker, certificate: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = arguments(broker, tmp_path, certificate, "secret")
    configs = Path(given[-1])
    configs.write_text(configs.read_text().replace("=PEM", "=JKS"))
    assert topics.main([*given, "--list"]) == 1
    assert "(ssl.truststore.location) is PEM, not JKS: set ssl.truststore.type=PEM" in capsys.readouterr().err
