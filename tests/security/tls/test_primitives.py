"""DER, RC2, RC4, Java's hash tables, PKCS#12's key derivation: each beside vectors of its definition."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.common.java_hash_order import hash_map_order, hashtable_order, java_string_hash
from kafkapy.security.tls.der import DerError, encode, read_value, read_values
from kafkapy.security.tls.pbe import PbeError, check_iterations, decrypt, pkcs12_kdf
from kafkapy.security.tls.rc2 import rc2_cbc_decrypt, rc4


@pytest.mark.parametrize(
    ("key", "bits", "plain", "sealed"),
    [
        ("0000000000000000", 63, "0000000000000000", "ebb773f993278eff"),
        ("ffffffffffffffff", 64, "ffffffffffffffff", "278b27e42e2f0d49"),
        ("3000000000000000", 64, "1000000000000001", "30649edf9be7d2c2"),
        ("88", 64, "0000000000000000", "61a8a244adacccf0"),
        ("88bca90e90875a", 64, "0000000000000000", "6ccf4308974c267f"),
        ("88bca90e90875a7f0f79c384627bafb2", 64, "0000000000000000", "1a807d272bbe5db1"),
        ("88bca90e90875a7f0f79c384627bafb2", 128, "0000000000000000", "2269552ab0f85ca6"),
    ],
)
def test_rc2_as_in_rfc_2268(key: str, bits: int, plain: str, sealed: str) -> None:
    assert rc2_cbc_decrypt(bytes.fromhex(key), bytes(8), bytes.fromhex(sealed), bits).hex() == plain


def test_rc4_as_in_rfc_6229() -> None:
    assert rc4(bytes.fromhex("0102030405"), bytes(16)).hex() == "b2396305f03dc027ccc3524a0a1118a8"


def test_the_key_derivation_of_pkcs12() -> None:
    """Vectors of the Bouncy Castle and OpenSSL test suites (by Dr. Henson)."""
    salt = bytes.fromhex("0A58CF64530D823F")
    assert pkcs12_kdf("sha1", 1, "smeg", salt, 1, 24).hex() == "8aaae6297b6cb04642ab5b077851284eb7128f1a2a7fbca3"
    assert pkcs12_kdf("sha1", 2, "smeg", salt, 1, 8).hex() == "79993dfe048d3b76"
    salt = bytes.fromhex("05DEC959ACFF72F7")
    assert pkcs12_kdf("sha1", 1, "queeg", salt, 1000, 24).hex() == "ed2034e36328830ff09df1e1a07dd357185dac0d4f9eb3d4"


def test_java_hashes() -> None:
    assert java_string_hash("") == 0
    assert java_string_hash("Aa") == java_string_hash("BB") == 2112


def test_orders_of_java_tables() -> None:
    """`a`..`e` hash to 97..101: buckets 1..5 of 16, and 9, 10, 0, 1, 2 of 11."""
    assert hash_map_order(["e", "c", "a", "b", "d"]) == ["a", "b", "c", "d", "e"]
    assert hash_map_order(["q", "a"]) == ["q", "a"]  # 113 and 97: the same bucket
    assert hash_map_order(["a", "q"]) == ["a", "q"]
    assert hashtable_order(["a", "b", "c", "d", "e"]) == ["b", "a", "e", "d", "c"]
    assert hashtable_order(["a", "l"]) == ["l", "a"]  # 97 and 108: the last one first
    many = [chr(97 + n) for n in range(13)]
    assert hash_map_order(many) == [*many]  # 32 buckets


def test_der_that_is_refused() -> None:
    for text in ("", "30", "3005", "308000", "3084ffffffff00", "308500000000010000", "1f8101", "020101ff"):
        with pytest.raises(DerError):
            read_value(bytes.fromhex(text))
    for text in ("0600", "060180", "0606ffffffffffff"):
        with pytest.raises(DerError):
            read_value(bytes.fromhex(text)).as_oid()
    with pytest.raises(DerError):
        read_value(bytes.fromhex("0209010101010101010101")).as_int()
    assert read_value(bytes.fromhex("06092a864886f70d010701")).as_oid() == "1.2.840.113549.1.7.1"
    assert read_value(bytes.fromhex("0603883703")).as_oid() == "2.999.3"


@given(st.integers(0, 255).filter(lambda tag: tag & 0x1F != 0x1F), st.binary(max_size=400))
def test_der_round_trip(tag: int, content: bytes) -> None:
    assert read_value(encode(tag, content)).content == content


@given(st.binary(max_size=200))
def test_der_of_anything(data: bytes) -> None:
    try:
        for value in read_values(data):
            value.children()
    except DerError:
        pass


def test_work_is_bounded() -> None:
    with pytest.raises(PbeError, match="iterations"):
        check_iterations(2_000_000_000)
    octets, pbes2, pbkdf2, aes = (
        "04080000000000000000",
        "06092a864886f70d01050d",
        "06092a864886f70d01050c",
        "0609608648016503040102",
    )
    derivation = encode(0x30, bytes.fromhex(pbkdf2) + encode(0x30, bytes.fromhex(octets + "02047fffffff")))
    cipher = encode(0x30, bytes.fromhex(aes) + encode(0x04, bytes(16)))
    algorithm = encode(0x30, bytes.fromhex(pbes2) + encode(0x30, derivation + cipher))
    with pytest.raises(PbeError, match="2147483647 iterations"):
        decrypt(read_value(algorithm), bytes(16), "x")
