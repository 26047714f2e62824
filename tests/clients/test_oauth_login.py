"""Tokens for OAUTHBEARER by Java's configs: from an endpoint, a file, or made up; and when they are renewed."""

from __future__ import annotations

import base64
import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from kafkapy.clients.java_properties import COMMON, arguments_of
from kafkapy.clients.oauth_login import RefreshingTokens, RefreshTimes, TokenEndpoint
from kafkapy.common.time import SystemTime
from kafkapy.errors import KafkaConfigurationError, SaslAuthenticationFailedError
from kafkapy.security.sasl.unsecured_jws import UnsecuredValidator

OAUTH = "org.apache.kafka.common.security.oauthbearer"
HANDLER = f"{OAUTH}.OAuthBearerLoginCallbackHandler"


def jwt(**claims: Any) -> str:
    encoded = base64.urlsafe_b64encode(json.dumps(claims).encode()).decode().rstrip("=")
    return f"e30.{encoded}.c2ln"


class Provider:
    """An identity provider; gives what is in `answers`, each once."""

    def __init__(self) -> None:
        provider = self
        self.answers: list[tuple[int, bytes]] = []
        self.asked: list[tuple[str | None, bytes]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                provider.asked.append((self.headers["Authorization"], body))
                status, data = provider.answers.pop(0)
                self.send_response(status)
                self.send_header("Location", "/elsewhere")
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *args: Any) -> None: ...

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/token"
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def provider() -> Iterator[Provider]:
    made = Provider()
    yield made
    made.stop()


def of_properties(jaas: str = "", **properties: str) -> Any:
    renamed = {name.replace("_", "."): value for name, value in properties.items()}
    given = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f"{OAUTH}.OAuthBearerLoginModule required {jaas};",
        **renamed,
    }
    arguments, warnings = arguments_of(COMMON, given)
    assert not warnings
    return arguments["sasl_oauth_token_provider"]


def test_a_token_of_an_endpoint(provider: Provider) -> None:
    token = jwt(sub="alice", exp=time.time() + 3600)
    provider.answers = [(503, b""), (200, json.dumps({"access_token": token}).encode())]
    tokens = of_properties(
        'clientId="an id" clientSecret="a:secret" scope="one two" extension_pool="p1"',
        sasl_login_callback_handler_class=HANDLER,
        sasl_oauthbearer_token_endpoint_url=provider.url,
        sasl_login_retry_backoff_ms="1",
    )
    assert tokens.token() == token
    assert tokens.token() == token
    expected = "Basic " + base64.b64encode(b"an id:a:secret").decode()
    assert provider.asked == [(expected, b"grant_type=client_credentials&scope=one+two")] * 2
    assert tokens.extensions() == {"pool": "p1"}
    assert "secret" not in repr(tokens)


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ((401, b"a secret"), "HTTP status 401"),
        ((302, b""), "HTTP status 302"),
        ((200, b"<html>"), "is no token: it is no JSON"),
        ((200, b"[]"), "is no token: it has no access_token"),
        ((200, b" " * ((1 << 20) + 1)), "it has more than 1048576 bytes"),
    ],
)
def test_answers_that_are_none(provider: Provider, answer: tuple[int, bytes], sentence: str) -> None:
    provider.answers = [answer]
    endpoint = TokenEndpoint(provider.url, "id", "secret-1")
    with pytest.raises(SaslAuthenticationFailedError, match=sentence) as refused:
        endpoint.fetch()
    assert "secret" not in str(refused.value) + repr(endpoint)
    assert len(provider.asked) == 1, "the secret goes nowhere else"


def test_a_provider_that_is_away_is_asked_for_a_while() -> None:
    endpoint = TokenEndpoint("http://127.0.0.1:9/", "id", "secret", retry_backoff=0.001, retry_backoff_max=0.01)
    with pytest.raises(SaslAuthenticationFailedError, match=r"No token from http://127\.0\.0\.1:9/: .*refused"):
        endpoint.fetch()


def test_a_provider_that_takes_the_question_and_says_nothing_is_waited_for_so_long() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        tokens = of_properties(
            'clientId="id" clientSecret="secret"',
            sasl_login_callback_handler_class=HANDLER,
            sasl_oauthbearer_token_endpoint_url=f"http://127.0.0.1:{silent.getsockname()[1]}/",
            sasl_login_read_timeout_ms="20",
            sasl_login_connect_timeout_ms="600000",
            sasl_login_retry_backoff_max_ms="1",
        )
        with pytest.raises(SaslAuthenticationFailedError, match="timed out"):
            tokens.token()


class Fetches:
    def __init__(self) -> None:
        self.now = 1000.0
        self.count = 0
        self.works = True

    def fetch(self) -> tuple[str, float | None]:
        if not self.works:
            raise OSError("a secret")
        self.count += 1
        return f"t{self.count}", self.now + 1000


def test_there_is_no_gap_while_the_provider_is_away() -> None:
    fetches = Fetches()
    tokens = RefreshingTokens(fetches.fetch, {}, RefreshTimes(window_jitter=0), lambda: fetches.now)
    assert tokens.token() == "t1"
    fetches.now += 699
    assert tokens.token() == "t1"
    fetches.now += 1  # 300 s before its end
    fetches.works = False
    assert tokens.token() == "t1"
    fetches.works = True
    assert tokens.token() == "t2"
    fetches.works = False
    fetches.now += 1000
    with pytest.raises(SaslAuthenticationFailedError, match="No token for OAUTHBEARER: OSError"):
        tokens.token()


def test_times_of_refresh() -> None:
    times = RefreshTimes()
    assert times.refresh_at(0, 10_000, 1) == 8500
    assert times.refresh_at(0, 1000, 0) == 700, "the buffer"
    assert times.refresh_at(0, 361, 0) == 61, "the buffer is longer"
    assert times.refresh_at(0, 100, 0) == 80, "neither fits: as Kafka, the factor alone"


def test_a_token_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text(jwt(sub="a", exp=1) + "\n")
    tokens = of_properties(
        sasl_login_callback_handler_class=HANDLER, sasl_oauthbearer_token_endpoint_url=f"file:{file}"
    )
    assert tokens.token() == jwt(sub="a", exp=1)
    file.unlink()
    with pytest.raises(SaslAuthenticationFailedError, match="No token in"):
        tokens.token()


def test_unsecured_tokens_are_those_that_a_broker_takes() -> None:
    tokens = of_properties(
        'unsecuredLoginStringClaim_sub="alice" unsecuredLoginListClaim_scope="|kafka|x" unsecuredLoginExtension_a="b"'
    )
    validator = UnsecuredValidator({"unsecuredValidatorRequiredScope": "kafka"}, SystemTime())
    assert validator.validate(tokens.token()).principal_name == "alice"
    assert tokens.extensions() == {"a": "b"}


class OwnHandler:
    def configure(self, configs: Any, mechanism: str, modules: Any) -> None:
        self.options = modules[0].options

    def token(self) -> str:
        return f"token-of-{self.options['user']}"

    def credentials(self) -> tuple[str, str]:
        return self.options["user"], "vault-secret"


def test_handlers_of_ones_own() -> None:
    path = f"{__name__}:OwnHandler"
    assert of_properties('user="alice"', sasl_login_callback_handler_class=path).token() == "token-of-alice"
    assert of_properties('user="alice"', sasl_login_class=path).token() == "token-of-alice"
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    for config in ("sasl.client.callback.handler.class", "sasl.login.callback.handler.class", "sasl.login.class"):
        given = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": f'{module} required user="alice";',
            config: path,
        }
        arguments, _ = arguments_of(COMMON, given)
        assert (arguments["sasl_plain_username"], arguments["sasl_plain_password"]) == ("alice", "vault-secret")


@pytest.mark.parametrize(
    ("jaas", "properties", "sentence"),
    [
        ("", {}, "unsecuredLoginStringClaim_sub is needed"),
        ('unsecuredLoginStringClaim_sub="a" unsecuredLoginLifetimeSeconds="x"', {}, "is wrong"),
        ("", {"sasl_login_callback_handler_class": HANDLER}, "a URL of https, http or file is needed"),
        (
            'clientId="x"',
            {"sasl_login_callback_handler_class": HANDLER, "sasl_oauthbearer_token_endpoint_url": "https://x/"},
            "sasl.jaas.config has no clientSecret",
        ),
        (
            "",
            {"sasl_login_callback_handler_class": "com.example.Login"},
            "Java classes cannot be used, an import path can",
        ),
    ],
)
def test_what_makes_no_sense(jaas: str, properties: dict[str, str], sentence: str) -> None:
    with pytest.raises(KafkaConfigurationError, match=sentence):
        of_properties(jaas, **properties)


def test_a_wrong_path_is_told_with_its_config() -> None:
    given = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.client.callback.handler.class": "nowhere:Login",
    }
    with pytest.raises(KafkaConfigurationError, match=r"sasl\.client\.callback\.handler\.class: nowhere"):
        arguments_of(COMMON, given)


def test_kerberos_by_javas_configs() -> None:
    jaas = (
        'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true keyTab="/etc/alice.keytab" '
        'principal="alice@EXAMPLE.COM";'
    )
    given = {"security.protocol": "SASL_SSL", "sasl.kerberos.service.name": "kafka-7", "sasl.jaas.config": jaas}
    arguments, _ = arguments_of(COMMON, given)
    kerberos = {name: value for name, value in arguments.items() if name.startswith("sasl")}
    assert kerberos == {
        "sasl_mechanism": "GSSAPI",
        "sasl_kerberos_service_name": "kafka-7",
        "sasl_kerberos_keytab": "/etc/alice.keytab",
        "sasl_kerberos_principal": "alice@EXAMPLE.COM",
    }
