"""Stores of all formats, through the configs that name them. `stores/make.sh` made the files."""

from __future__ import annotations

import base64
import random
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from kafkapy.common.config_def import Password
from kafkapy.security.tls import pbe, pkcs12, stores
from kafkapy.security.tls.jks import jks_store
from kafkapy.security.tls.key_store import MAX_STORE_BYTES, KeyStore, PrivateKey, StoreError
from kafkapy.security.tls.pem import pem_trust_store, to_pem
from kafkapy.security.tls.pkcs12 import pkcs12_store
from kafkapy.security.tls.stores import load_key_store, load_trust_store, store_files
from tests.security.tls.jks_writer import jks, signed

HERE = Path(__file__).parent / "stores"
SECRETS = ("store-secret", "key-secret", "wrong-secret")
ENCRYPTED = sorted(path.name for path in HERE.glob("encrypted-*.pem"))


def pem_certificate(name: str) -> bytes:
    return pem_trust_store((HERE / name).read_text(), name).trusted[0].certificate


BROKER = pem_certificate("broker.pem")
OTHER = pem_certificate("other.pem")


def public_bytes(key: PrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    password = key.password.encode() if key.password is not None else None
    private = load_pem_private_key(key.pem, password)
    return private.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)


def belongs(store: KeyStore) -> bool:
    """Does each key belong to its first certificate?"""
    return all(public_bytes(entry.key) in entry.chain[0] for entry in store.keys)


def key_configs(name: str, **more: Any) -> dict[str, Any]:
    return {
        "ssl.keystore.location": str(HERE / name),
        "ssl.keystore.password": Password("store-secret"),
        **{key.replace("_", "."): value for key, value in more.items()},
    }


def trust_configs(name: str, **more: Any) -> dict[str, Any]:
    return {
        "ssl.truststore.location": str(HERE / name),
        **{key.replace("_", "."): value for key, value in more.items()},
    }


def key_store(configs: dict[str, Any]) -> KeyStore:
    found = load_key_store(configs)
    assert found is not None
    return found


def trust_store(configs: dict[str, Any]) -> KeyStore:
    found = load_trust_store(configs)
    assert found is not None
    return found


def refusal(configs: dict[str, Any], load: Any = load_key_store) -> str:
    with pytest.raises(StoreError) as caught:
        load(configs)
    sentence = str(caught.value)
    assert not any(secret in sentence for secret in SECRETS)
    return sentence


# --- JKS


def test_a_jks_store_of_keytool() -> None:
    store = key_store(key_configs("two_keys.jks", ssl_key_password="key-secret"))
    assert store.aliases == ("other", "broker")
    assert {entry.alias: entry.chain[0] for entry in store.keys} == {"broker": BROKER, "other": OTHER}
    assert belongs(store)


def test_the_key_password_is_the_stores_by_default() -> None:
    sentence = refusal(key_configs("two_keys.jks"))
    assert sentence.endswith(
        "two_keys.jks (ssl.keystore.location): the key other cannot be recovered; check ssl.key.password"
    )


def test_a_wrong_password_of_a_jks_store() -> None:
    sentence = refusal(key_configs("two_keys.jks") | {"ssl.keystore.password": "wrong-secret"})
    assert "was tampered with, or its password is wrong" in sentence


def test_a_jks_truststore_with_and_without_its_password() -> None:
    for more in ({}, {"ssl_truststore_password": "store-secret"}):
        assert set(trust_store(trust_configs("trust.JKS", **more)).trust_anchors()) == {BROKER, OTHER}
    assert "tampered" in refusal(trust_configs("trust.JKS", ssl_truststore_password="wrong-secret"), load_trust_store)


def test_both_versions_and_a_chain() -> None:
    for version in (1, 2):
        data = jks("pw", [("a", b"0" * 50, [BROKER, OTHER])], [("t", OTHER)], version=version)
        store = jks_store(data, "pw", "pw", "x.jks")
        assert store.keys[0].chain == (BROKER, OTHER)
        assert store.keys[0].key.pem == to_pem("PRIVATE KEY", b"0" * 50)
        assert store.trusted[0].certificate == OTHER
        assert set(store.aliases) == {"a", "t"}


def test_a_jks_key_store_as_truststore_trusts_its_own_certificate_only() -> None:
    data = jks("pw", [("a", b"0" * 50, [BROKER, OTHER])], key_password="another")
    assert jks_store(data, None, None, "x.jks").trust_anchors() == [BROKER]


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        (struct.pack(">III", 0xFEEDFEED, 3, 0), "version 3"),
        (struct.pack(">III", 0xFEEDFEED, 2, 0xFFFFFFFF), "ends within an entry"),
        (struct.pack(">III", 0xFEEDFEED, 2, 1) + struct.pack(">I", 9) + b"\0\1a" + bytes(8), "an entry of kind 9"),
        (struct.pack(">III", 0xFEEDFEED, 2, 1) + struct.pack(">IH", 1, 1) + b"a" + bytes(8) + b"\xff" * 4, "damaged"),
        (struct.pack(">III", 0xFEEDFEED, 2, 0) + b"more", "bytes follow"),
        (
            struct.pack(">III", 0xFEEDFEED, 2, 1)
            + struct.pack(">IH", 2, 1)
            + b"a"
            + bytes(8)
            + b"\0\5PGP00"
            + bytes(4),
            "of type 'PGP00'",
        ),
    ],
)
def test_damaged_jks_stores(body: bytes, sentence: str) -> None:
    with pytest.raises(StoreError, match=sentence):
        jks_store(signed(body, "pw"), "pw", "pw", "x.jks")


def test_damage_anywhere_is_a_sentence() -> None:
    stores_of = {
        "jks": jks("pw", [("a", b"0" * 50, [BROKER])], [("t", OTHER)]),
        "p12": (HERE / "openssl_key.p12").read_bytes(),
    }
    randomness = random.Random(7)
    for n in range(1500):
        kind = "jks" if n % 2 else "p12"
        data = bytearray(stores_of[kind])
        for _ in range(randomness.randrange(1, 4)):
            data[randomness.randrange(len(data))] = randomness.randrange(256)
        cut = bytes(data[: randomness.randrange(len(data))]) if n % 3 == 0 else bytes(data)
        try:
            if kind == "jks":
                jks_store(signed(cut[:-20], "pw") if n % 5 else cut, "pw", "pw", "x")
            else:
                pkcs12_store(cut, None if n % 5 else "store-secret", None, "x")
        except StoreError:
            pass


def test_damage_within_a_pkcs12_store_that_passes_its_check(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pkcs12, "_check_mac", lambda *_: None)
    monkeypatch.setattr(pbe, "MAX_ITERATIONS", 3000)
    original = (HERE / "openssl_key.p12").read_bytes()
    randomness = random.Random(12)
    sentences = set()
    for _ in range(1500):
        data = bytearray(original)
        for _ in range(randomness.randrange(1, 3)):
            data[randomness.randrange(len(data))] = randomness.randrange(256)
        try:
            pkcs12_store(bytes(data), "store-secret", "store-secret", "x")
        except StoreError as error:
            sentences.add(str(error))
    assert len(sentences) > 10
    assert not any(secret in sentence for secret in SECRETS for sentence in sentences)


# --- PKCS12


@pytest.mark.parametrize("name", ["two_keys.p12", "legacy.p12", "openssl_key.p12"])
def test_pkcs12_stores_of_keytool_and_openssl(name: str) -> None:
    store = key_store(key_configs(name, ssl_keystore_type="PKCS12"))
    assert belongs(store)
    assert len(store.keys) == (2 if name == "two_keys.p12" else 1)


def test_aliases_of_a_pkcs12_store_are_in_lower_case() -> None:
    store = key_store(key_configs("two_keys.p12", ssl_keystore_type="PKCS12"))
    assert {entry.alias: entry.chain for entry in store.keys}.keys() == {"broker", "other"}


def test_the_type_of_a_java_store_is_that_of_its_content() -> None:
    assert len(key_store(key_configs("two_keys.p12", ssl_keystore_type="JKS")).keys) == 2
    configs = key_configs("two_keys.jks", ssl_keystore_type="PKCS12", ssl_key_password="key-secret")
    assert len(key_store(configs).keys) == 2


def test_a_wrong_password_of_a_pkcs12_store() -> None:
    sentence = refusal(key_configs("two_keys.p12") | {"ssl.keystore.password": "wrong-secret"})
    assert "the password of the store is wrong" in sentence
    sentence = refusal(key_configs("two_keys.p12", ssl_key_password="wrong-secret"))
    assert "the key broker cannot be decrypted; check ssl.key.password" in sentence


def test_pkcs12_truststores() -> None:
    password = {"ssl_truststore_type": "PKCS12", "ssl_truststore_password": "store-secret"}
    assert set(trust_store(trust_configs("trust.PKCS12", **password)).trust_anchors()) == {BROKER, OTHER}
    assert trust_store(trust_configs("openssl_trust.p12", **password)).trust_anchors() == [BROKER]
    without = refusal(trust_configs("trust.PKCS12", ssl_truststore_type="PKCS12"), load_trust_store)
    assert "has no trusted certificate" in without
    assert "set ssl.truststore.password" in without


def test_a_pkcs12_key_store_as_truststore_trusts_what_java_trusts() -> None:
    password = {"ssl_truststore_type": "PKCS12", "ssl_truststore_password": "store-secret"}
    store = trust_store(trust_configs("two_keys.p12", **password))
    assert len(store.trust_anchors()) == 2
    assert not store.keys


# --- PEM


@pytest.mark.parametrize("name", ENCRYPTED)
def test_encrypted_keys(name: str) -> None:
    configs = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": Password((HERE / name).read_text()),
        "ssl.keystore.certificate.chain": Password((HERE / "legacy.pem").read_text()),
        "ssl.key.password": Password("key-secret"),
    }
    assert belongs(key_store(configs))
    missing = refusal(configs | {"ssl.key.password": None})
    assert missing.endswith("the private key is encrypted; set ssl.key.password")
    if "PBE-" in name:
        wrong = refusal(configs | {"ssl.key.password": "wrong-secret"})
        assert wrong.endswith("the private key cannot be decrypted; check ssl.key.password")


def test_key_and_chain_in_one_file(tmp_path: Path) -> None:
    both = tmp_path / "both.pem"
    both.write_text((HERE / "legacy.pem").read_text() + (HERE / "encrypted-pbes2-aes256.pem").read_text())
    configs = {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(both), "ssl.key.password": "key-secret"}
    store = key_store(configs)
    assert store.aliases == ("kafka",)
    assert belongs(store)
    assert store_files(configs) == [str(both)]


def test_pem_in_one_line() -> None:
    """As a properties file has it when its lines are joined with spaces."""
    configs = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": " ".join((HERE / "encrypted-pbes2-aes256.pem").read_text().split("\n")),
        "ssl.keystore.certificate.chain": " ".join((HERE / "legacy.pem").read_text().split("\n")),
        "ssl.key.password": "key-secret",
    }
    assert belongs(key_store(configs))


def test_pem_that_is_no_store(tmp_path: Path) -> None:
    file = tmp_path / "a.pem"
    for text, sentence in (
        ("", "it has no private key"),
        (
            "-----BEGIN PRIVATE KEY-----\n!!!\n-----END PRIVATE KEY-----\n" + to_pem("CERTIFICATE", BROKER).decode(),
            "no Base64",
        ),
        (2 * "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "it has 2 private keys"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "it has no certificate"),
        (
            "-----BEGIN EC PRIVATE KEY-----\nAA\n-----END EC PRIVATE KEY-----\n" + to_pem("CERTIFICATE", b"x").decode(),
            "cannot be read",
        ),
    ):
        file.write_text(text)
        found = refusal({"ssl.keystore.type": "PEM", "ssl.keystore.location": str(file)})
        assert sentence in found
        assert str(file) in found


def test_trusted_certificates_inline_and_from_a_file() -> None:
    text = (HERE / "broker.pem").read_text() + "a comment\n" + (HERE / "other.pem").read_text()
    inline = trust_store({"ssl.truststore.type": "PEM", "ssl.truststore.certificates": Password(text)})
    assert inline.trust_anchors() == [BROKER, OTHER]
    assert inline.aliases == ("kafka0", "kafka1")
    from_file = trust_store(trust_configs("broker.pem", ssl_truststore_type="PEM"))
    assert from_file.trust_anchors() == [BROKER]


# --- configs


@pytest.mark.parametrize(
    ("configs", "sentence"),
    [
        ({"ssl.keystore.key": "k"}, "SSL private key can be specified only for PEM, but key store type is JKS."),
        (
            {"ssl.keystore.type": "PEM", "ssl.keystore.key": "k"},
            "SSL private key is specified, but certificate chain is not specified.",
        ),
        (
            {"ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": "c"},
            "SSL certificate chain is specified, but private key is not specified",
        ),
        (
            {"ssl.keystore.type": "PEM", "ssl.keystore.location": "x", "ssl.keystore.password": "store-secret"},
            "SSL key store password cannot be specified with PEM format, only key password may be specified",
        ),
        (
            {"ssl.keystore.password": "store-secret"},
            "SSL key store is not specified, but key store password is specified.",
        ),
        ({"ssl.keystore.location": "x"}, "SSL key store is specified, but key store password is not specified."),
        (
            {"ssl.keystore.location": "/no/such", "ssl.keystore.password": "store-secret"},
            "Failed to load SSL keystore /no/such of type JKS: No such file or directory",
        ),
    ],
)
def test_contradictions_in_apaches_words(configs: dict[str, Any], sentence: str) -> None:
    assert refusal(configs) == sentence


def test_what_is_no_store(tmp_path: Path) -> None:
    file = tmp_path / "store"
    configs = {"ssl.keystore.location": str(file), "ssl.keystore.password": "store-secret"}
    for content, sentence in (
        ((HERE / "broker.pem").read_bytes(), "is PEM, not JKS: set ssl.keystore.type=PEM"),
        (b"\xce\xce\xce\xce\0\0", "is a JCEKS store"),
        (b"", "is no store of type JKS"),
        ((HERE / "trust.JKS").read_bytes(), "has no private key; it may be the trust store"),
    ):
        file.write_bytes(content)
        assert sentence in refusal(configs)
    assert "JKS, PKCS12 and PEM" in refusal(configs | {"ssl.keystore.type": "BCFKS"})


def test_a_file_is_read_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "MAX_STORE_BYTES", 100)
    assert MAX_STORE_BYTES == 16 << 20
    assert "larger than" in refusal(key_configs("two_keys.jks"))


def test_keys_are_hidden() -> None:
    store = key_store(key_configs("two_keys.jks", ssl_key_password="key-secret"))
    for entry in store.keys:
        secret = base64.b64decode(b"".join(entry.key.pem.splitlines()[1:-1])).hex()
        assert "PRIVATE KEY" not in repr(store)
        assert secret not in repr(store)
    assert repr(store.keys[0].key) == "PrivateKey([hidden])"


@pytest.mark.integration
@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_stores_of_the_keytool_that_is_here(kind: str, tmp_path: Path) -> None:
    keytool = shutil.which("keytool")
    if keytool is None:
        pytest.skip("there is no keytool")
    store = tmp_path / "store"
    for alias in ("One", "two", "three"):
        subprocess.run(
            [
                *(keytool, "-genkeypair", "-keyalg", "RSA", "-keysize", "2048", "-alias", alias, "-storetype", kind),
                *("-keystore", str(store), "-storepass", "store-secret", "-keypass", "store-secret"),
                *("-dname", f"CN={alias}, OU=\\#a\\,b, O=\\ x\\ , EMAILADDRESS=a@b", "-ext", "SAN=dns:localhost"),
            ],
            check=True,
            capture_output=True,
        )
    found = key_store({"ssl.keystore.location": str(store), "ssl.keystore.password": "store-secret"})
    assert set(found.aliases) == {"one", "two", "three"}
    assert belongs(found)
    names = {alias: fields.subject.java_name for alias, fields in found.certificates()}
    assert names["two"].startswith(r"CN=two,OU=\#a\,b,O=\ x\ ,1.2.840.113549.1.9.1=#1603614062")
