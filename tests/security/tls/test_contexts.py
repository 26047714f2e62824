"""Contexts of Kafka's configs, judged by the handshakes that come of them."""

from __future__ import annotations

import os
import pickle
import ssl
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.security.tls import contexts, tls_settings
from kafkapy.security.tls import secret_file as secret_file_module
from kafkapy.security.tls.cipher_suites import TLS_1_3_SUITES, CipherSuites, openssl_name
from kafkapy.security.tls.contexts import client_context, server_context
from kafkapy.security.tls.dh_parameters import use_dh_parameters
from kafkapy.security.tls.key_store import StoreError
from kafkapy.security.tls.pem import pem_trust_store
from kafkapy.security.tls.principal_mapper import SslPrincipalMapper
from kafkapy.security.tls.secret_file import secret_file
from kafkapy.security.tls.session import TlsSession
from kafkapy.security.tls.tls_1_3_choice import can_choose_suites
from kafkapy.security.tls.tls_settings import TlsSettings
from tests.security.tls.jks_writer import jks
from tests.security.tls.pki import authority, connected, credential, exchange, keys, read_all, sessions, trust

STORES = Path(__file__).parent / "stores"


def failures(server: TlsSession, client: TlsSession) -> tuple[str, str]:
    """Sentences of both; in TLS 1.3 a client learns of its refusal when it reads."""
    read_all(client)
    exchange(server, client)
    read_all(client)
    return str(server.failure or ""), str(client.failure or "")


def test_the_defaults() -> None:
    server, client = connected()
    assert server.handshake_complete
    assert client.handshake_complete
    assert server.version == client.version == "TLSv1.3"
    assert client.peer_name() == "CN=broker,OU=kafka,O=kit"
    assert server.peer_name() is None
    assert str(server.peer_principal(SslPrincipalMapper())) == "User:ANONYMOUS"


# --- protocols and cipher suites


@pytest.mark.parametrize(
    ("configs", "version"),
    [
        ({"ssl.enabled.protocols": "TLSv1.2"}, "TLSv1.2"),
        ({"ssl.enabled.protocols": ["TLSv1.3"]}, "TLSv1.3"),
        ({"ssl.enabled.protocols": "TLSv1.3,TLSv1.2,TLSv1.1"}, "TLSv1.3"),
        ({"ssl.protocol": "TLSv1.2"}, "TLSv1.3"),  # what is enabled decides
        ({"ssl.protocol": "TLSv1.2", "ssl.enabled.protocols": []}, "TLSv1.2"),
        ({"ssl.protocol": "TLS", "ssl.enabled.protocols": []}, "TLSv1.3"),
    ],
)
def test_protocols(configs: dict[str, Any], version: str) -> None:
    server, client = connected(configs)
    assert server.version == client.version == version


def test_no_protocol_in_common() -> None:
    server, client = connected({"ssl.enabled.protocols": "TLSv1.3"}, {"ssl.enabled.protocols": "TLSv1.2"})
    of_server, of_client = failures(server, client)
    assert "no protocol version in common" in of_server
    assert client.failure is not None
    assert client.failure.received
    assert client.failure.alert == "protocol_version"
    assert "the peer refuses the protocol version" in of_client


@pytest.mark.parametrize(
    ("configs", "sentence"),
    [
        ({"ssl.enabled.protocols": "TLSv1.1,TLSv1"}, "these are insecure and stay off"),
        ({"ssl.enabled.protocols": "TLSv1.4"}, "TLSv1.2, TLSv1.3 are known"),
        ({"ssl.protocol": "QUIC"}, "Invalid value QUIC for configuration ssl.protocol"),
        ({"ssl.client.auth": "maybe"}, "one of none, requested, required is expected"),
        ({"ssl.endpoint.identification.algorithm": "ldaps"}, "https is expected, or nothing"),
        ({"ssl.secure.random.implementation": "Dice"}, "SHA1PRNG"),
        ({"ssl.provider": "BCJSSE"}, "here OpenSSL does that work"),
        ({"ssl.keymanager.algorithm": "X"}, "SunX509"),
        ({"ssl.trustmanager.algorithm": "X"}, "PKIX"),
        ({"security.providers": "a.B"}, "it names a Java class"),
        ({"ssl.engine.factory.class": "a.B"}, "it names a Java class"),
        ({"ssl.cipher.suites": "TLS_X"}, "there are no such cipher suites"),
        ({"ssl.cipher.suites": "TLS_RSA_WITH_NULL_SHA256"}, "it is too weak for OpenSSL"),
        ({"ssl.cipher.suites": "TLS_RSA_WITH_RC4_128_MD5"}, "does not have it"),
        (
            {"ssl.cipher.suites": "TLS_AES_128_GCM_SHA256", "ssl.enabled.protocols": "TLSv1.2"},
            "none is of a protocol of ssl.enabled.protocols",
        ),
    ],
)
def test_refusals(configs: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ConfigException) as caught:
        server_context({**keys(credential()), **configs})
    assert sentence in str(caught.value)


def test_what_java_has_of_its_own_is_taken() -> None:
    server, _ = connected(
        {
            "ssl.secure.random.implementation": "SHA1PRNG",
            "ssl.keymanager.algorithm": "SunX509",
            "ssl.trustmanager.algorithm": "PKIX",
            "ssl.provider": "SunJSSE",
            "security.providers": None,
        }
    )
    assert server.handshake_complete


@pytest.mark.parametrize(
    ("suites", "cipher"),
    [
        ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "ECDHE-ECDSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305"),
        (
            "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
            "ECDHE-ECDSA-AES128-SHA256",
        ),
    ],
)
def test_cipher_suites_of_tls_1_2_in_the_servers_order(suites: str, cipher: str) -> None:
    """Without a suite of TLS 1.3 there is no TLS 1.3, as in Java."""
    server, client = connected({"ssl.cipher.suites": suites})
    assert server.cipher == client.cipher == cipher
    assert server.version == "TLSv1.2"


@pytest.mark.parametrize("suite", ["TLS_AES_128_GCM_SHA256", "TLS_CHACHA20_POLY1305_SHA256", "TLS_AES_128_CCM_SHA256"])
def test_one_suite_of_tls_1_3(suite: str) -> None:
    if not can_choose_suites():
        pytest.skip("this Python cannot choose among the suites of TLS 1.3")
    settings = TlsSettings.of({"ssl.cipher.suites": suite})
    assert (settings.minimum, settings.notes) == (ssl.TLSVersion.TLSv1_3, [])
    server, client = connected({"ssl.cipher.suites": suite}, {"ssl.cipher.suites": ",".join(TLS_1_3_SUITES[:4])})
    assert (server.version, server.cipher, client.cipher) == ("TLSv1.3", suite, suite)


def test_where_python_cannot_choose_among_the_suites_of_tls_1_3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tls_settings, "can_choose_suites", lambda: False)
    assert TlsSettings.of({"ssl.cipher.suites": ",".join(TLS_1_3_SUITES[:3])}).notes == []
    settings = TlsSettings.of({"ssl.cipher.suites": "TLS_AES_256_GCM_SHA384"})
    assert settings.minimum == ssl.TLSVersion.TLSv1_3
    assert "this Python cannot choose among the suites of TLS 1.3" in settings.notes[0]
    with pytest.raises(ConfigException, match="has only"):
        TlsSettings.of({"ssl.cipher.suites": "TLS_AES_128_CCM_SHA256"})


@pytest.mark.parametrize(
    ("suite", "uses"), [("TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", 1), ("TLS_RSA_WITH_AES_128_GCM_SHA256", 0)]
)
def test_diffie_hellman_suites_have_a_group(suite: str, uses: int) -> None:
    with patch.object(contexts, "use_dh_parameters", wraps=use_dh_parameters) as use:
        server_context({**keys(credential()), "ssl.cipher.suites": suite})
    assert use.call_count == uses


@pytest.mark.parametrize(
    ("java", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384", "ECDHE-RSA-AES256-GCM-SHA384"),
        ("TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA384", "ECDHE-RSA-AES256-SHA384"),
        ("TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA", "ECDHE-ECDSA-AES128-SHA"),
        ("TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", "DHE-RSA-AES128-GCM-SHA256"),
        ("TLS_DHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "DHE-RSA-CHACHA20-POLY1305"),
        ("TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"),
        ("SSL_RSA_WITH_3DES_EDE_CBC_SHA", "DES-CBC3-SHA"),
        ("TLS_RSA_WITH_AES_128_CCM_8", "AES128-CCM8"),
        ("TLS_ECDHE_ECDSA_WITH_AES_256_CCM", "ECDHE-ECDSA-AES256-CCM"),
        ("TLS_RSA_WITH_CAMELLIA_128_CBC_SHA256", "CAMELLIA128-SHA256"),
        ("TLS_ECDHE_RSA_WITH_ARIA_128_GCM_SHA256", "ECDHE-ARIA128-GCM-SHA256"),
        ("ECDHE-RSA-AES256-GCM-SHA384", "ECDHE-RSA-AES256-GCM-SHA384"),
        ("TLS_GOST_WITH_X", None),
        ("ALL:@SECLEVEL=0", None),
        ("DEFAULT", None),
    ],
)
def test_names_of_cipher_suites(java: str, openssl: str | None) -> None:
    assert openssl_name(java) == openssl


def test_every_default_suite_of_openssl_has_its_name_back() -> None:
    names = [each["name"] for each in ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).get_ciphers()]
    found = CipherSuites.of(names)
    assert not found.unknown
    assert [*found.tls_1_3, *found.tls_1_2] == names


# --- client authentication


CLIENT = "CN=Alice,OU=teams,O=kit"


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_a_client_with_a_certificate(version: str) -> None:
    for client_auth in ("required", "requested"):
        configs = {"ssl.client.auth": client_auth, "ssl.enabled.protocols": version}
        server, _ = connected(configs, keys(credential(CLIENT)))
        assert server.peer_name() == CLIENT
        mapper = SslPrincipalMapper("RULE:^CN=([^,]*),OU=teams.*$/$1/L,DEFAULT")
        assert str(server.peer_principal(mapper)) == "User:alice"


@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
def test_a_client_without_a_certificate(version: str) -> None:
    server, client = connected({"ssl.client.auth": "requested", "ssl.enabled.protocols": version})
    assert server.handshake_complete
    assert server.peer_name() is None
    server, client = connected({"ssl.client.auth": "required", "ssl.enabled.protocols": version})
    of_server, of_client = failures(server, client)
    assert of_server == "the client has sent no certificate, and ssl.client.auth=required"
    assert client.failure is not None
    assert client.failure.received
    assert of_client.startswith("the peer")


def test_a_client_that_is_not_trusted() -> None:
    other = authority("CN=other-ca")
    for client_auth in ("required", "requested"):
        server, client = connected({"ssl.client.auth": client_auth}, keys(other.issue("CN=mallory")))
        of_server, of_client = failures(server, client)
        assert of_server.startswith("the client's certificate is refused: ")
        assert "ssl.truststore.location" in of_server
        assert "lacks the authority" in of_client
        assert client.failure is not None
        assert client.failure.alert == "unknown_ca"


# --- names and trust


@pytest.mark.parametrize(
    ("host", "algorithm", "accepted"),
    [
        ("localhost", "https", True),
        ("LOCALHOST", "HTTPS", True),
        ("127.0.0.1", "https", True),
        ("::1", "https", True),
        ("127.0.0.2", "https", False),
        ("other.host", "https", False),
        ("other.host", "", True),
        ("other.host", None, True),
    ],
)
def test_endpoint_identification(host: str, algorithm: str | None, accepted: bool) -> None:
    server, client = connected(client={"ssl.endpoint.identification.algorithm": algorithm}, host=host)
    assert client.handshake_complete == accepted
    if not accepted:
        of_server, of_client = failures(server, client)
        assert of_client.startswith("the server's certificate is refused: ")
        assert host in of_client
        assert client.failure is not None
        assert client.failure.alert == "bad_certificate"
        assert of_server == "the peer refuses the certificate"


def test_a_certificate_is_checked_even_if_its_name_is_not() -> None:
    _, client = connected(client={**trust(authority("CN=other-ca")), "ssl.endpoint.identification.algorithm": ""})
    assert "put the certificate of the authority that signed it into ssl.truststore.location" in str(client.failure)


def test_a_certificate_that_is_trusted_itself() -> None:
    """As in Java, a trust store may have a certificate that is no authority's."""
    own = credential().certificate_chain.split("-----END CERTIFICATE-----")[0] + "-----END CERTIFICATE-----\n"
    _, client = connected(client={"ssl.truststore.type": "PEM", "ssl.truststore.certificates": own})
    assert client.handshake_complete


def test_without_a_truststore_the_system_decides() -> None:
    context = client_context({})
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert context.check_hostname


def test_a_clients_context_goes_to_other_processes() -> None:
    context = pickle.loads(pickle.dumps(client_context({**trust(), "ssl.endpoint.identification.algorithm": ""})))
    server, _ = sessions()
    client = TlsSession(context)
    exchange(server, client)
    assert client.handshake_complete
    assert client.peer_name() == "CN=broker,OU=kafka,O=kit"


# --- keys


def test_an_encrypted_key() -> None:
    sealed = credential("CN=sealed", password="key-secret")
    server, _ = connected(keys(sealed, "key-secret"), host="localhost")
    assert server.handshake_complete
    with pytest.raises(StoreError) as caught:
        server_context(keys(sealed, "wrong-secret"))
    assert str(caught.value).endswith("the key kafka cannot be decrypted; check ssl.key.password")
    assert "wrong-secret" not in str(caught.value)


@pytest.mark.parametrize("name", sorted(path.name for path in STORES.glob("encrypted-*")))
def test_every_encryption_of_keys(name: str) -> None:
    chain = (STORES / "legacy.pem").read_text()
    configs = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": (STORES / name).read_text(),
        "ssl.keystore.certificate.chain": chain,
        "ssl.key.password": "key-secret",
    }
    server_context(configs)
    with pytest.raises(StoreError, match="cannot be decrypted"):
        server_context(configs | {"ssl.key.password": "x"})


@pytest.mark.parametrize("name", ["two_keys.jks", "two_keys.p12", "legacy.p12", "openssl_key.p12"])
def test_stores_of_java(name: str) -> None:
    jks_password = {"ssl.key.password": "key-secret"} if name.endswith("jks") else {}
    configs = {"ssl.keystore.location": str(STORES / name), "ssl.keystore.password": "store-secret", **jks_password}
    server = TlsSession(server_context(configs), server_side=True)
    client = TlsSession(
        client_context(
            {
                "ssl.truststore.location": str(STORES / name),
                "ssl.truststore.password": "store-secret",
                "ssl.endpoint.identification.algorithm": "",
            }
        )
    )
    exchange(server, client)
    assert client.handshake_complete
    assert client.peer_name() == ("CN=other,OU=kit" if name.startswith("two") else "CN=broker,OU=kit")


def test_of_several_keys_of_a_kind_the_first_in_javas_table() -> None:
    """`other` falls into a bucket before that of `broker`."""
    configs = {
        "ssl.keystore.location": str(STORES / "two_keys.p12"),
        "ssl.keystore.password": "store-secret",
        "ssl.keystore.type": "PKCS12",
    }
    server = TlsSession(server_context(configs), server_side=True)
    client = TlsSession(
        client_context(
            {
                "ssl.truststore.location": str(STORES / "two_keys.p12"),
                "ssl.truststore.password": "store-secret",
                "ssl.endpoint.identification.algorithm": "",
            }
        )
    )
    exchange(server, client)
    assert client.peer_name() == "CN=other,OU=kit"


def test_keys_of_two_kinds_are_both_offered(tmp_path: Path) -> None:
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
        load_pem_private_key,
    )

    from kafkapy.security.tls.certificates import CertificateAuthority
    from tests.security.tls.pki import NOW

    rsa_authority = CertificateAuthority("CN=rsa-ca", NOW, rsa_bits=2048)
    entries = []
    for alias, made in (("ec", credential()), ("rsa", rsa_authority.issue("CN=rsa", ["localhost"]))):
        key = load_pem_private_key(made.private_key.encode(), None)
        encoded = key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        chain = [each.certificate for each in pem_trust_store(made.certificate_chain, "x").trusted]
        entries.append((alias, encoded, chain))
    path = tmp_path / "two_kinds.jks"
    path.write_bytes(jks("pw", entries))
    context = server_context({"ssl.keystore.location": str(path), "ssl.keystore.password": "pw"})
    both = authority().certificate + rsa_authority.certificate
    for suite, name in (
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "CN=rsa"),
        ("TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "CN=broker,OU=kafka,O=kit"),
    ):
        client = TlsSession(
            client_context(
                {
                    "ssl.truststore.type": "PEM",
                    "ssl.truststore.certificates": both,
                    "ssl.cipher.suites": suite,
                }
            ),
            server_hostname="localhost",
        )
        exchange(TlsSession(context, server_side=True), client)
        assert client.peer_name() == name


def test_a_key_that_does_not_belong_to_its_certificate() -> None:
    mixed = {**keys(credential()), "ssl.keystore.key": credential("CN=another").private_key}
    with pytest.raises(StoreError, match="does not belong to the first certificate"):
        server_context(mixed)


def test_a_listener_without_a_key_store() -> None:
    with pytest.raises(StoreError, match="needs a key store"):
        server_context({})


# --- the file that OpenSSL reads


def test_a_secret_file_ends_with_its_block() -> None:
    with secret_file(b"secret") as path:
        assert Path(path).read_bytes() == b"secret"
        if hasattr(os, "memfd_create"):
            assert path.startswith("/proc/self/fd/")
    assert not os.path.exists(path) or "secret" not in os.readlink(path)


def test_a_secret_file_without_memory_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(secret_file_module, "_in_memory", lambda: None)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with secret_file(b"secret") as path:
        assert Path(path).read_bytes() == b"secret"
        assert os.stat(path).st_mode & 0o777 == 0o600
    assert not list(tmp_path.iterdir())
    connected()
    assert not list(tmp_path.iterdir())
