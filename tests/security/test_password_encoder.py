"""Passwords in ZooKeeper: texts that Apache Kafka 3.9.1's `EncryptingPasswordEncoder` has made, and our own."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kafkapy.common.config_def import ConfigException, Password
from kafkapy.security.password_encoder import PasswordDecodeError, PasswordEncoder

SECRET = Password("encoder-secret")
PASSWORD = "store-pässword€😀"
OF_APACHE = [
    (
        "initializationVector:4ZMLv8l3+eTBMevfvMkeCw==,keyLength:128,salt:rUcs/geZZrQWkD0culBxZ65gpPQ/mZTQ1Sa"
        "L+YJziPz2dK9Kk6iVf/K7/TRP/PWUaI477Eb5Yyp9FkQM7AlY0osNQWbrOmYXXsKUkmzliDds6fmGlFROp9+rMfXuXiq/E1svJlw"
        "jXewGOnyyDAm9FOkURvOipbXN+xf43DwhhrnFcI2xI6GA4lU3vj4ks5IzWtIwTzxkXa+qL1OjyNg9FcHUbpRNLIkCJbYwb4nOeYu"
        "SlM1Tt6FJkyGS02yKNkxZeObXPuAB8d1i/RV6U21OjHXdR9tT4CKZyb5LXnhvalRBuPGpq/eB4MWrbVr7OH8kbtAZtek32uRd6/y"
        "rBbjJEw==,keyFactoryAlgorithm:PBKDF2WithHmacSHA512,cipherAlgorithm:AES/CBC/PKCS5Padding,iterations:4"
        "096,passwordLength:17,encryptedPassword:QktpdDu1Jnk2QsTrw1HwkLz4+fqwBdGvHNFu0grPUQs="
    ),
    (
        "initializationVector:R2McYkwi+5Opt9PIVg+5GA==,keyLength:128,salt:Li5qND8IM0rcf+KpRlsyy20X5r9ltgSJmDZ"
        "JQSXYOfVzOtUcvNToHPD6bA/03vgD3quCkXMTIHeF3F51UKIKM1J+Fr3rnFiort3mhYRh7ye1918yHrnvVB32cVKJRT4qVHQH5M+"
        "Q/SjokHdLGoMu/w2uM18XNNOlkB/hCIA/aoo9tTyMA4enj3PA6eStrTOc7ol15xhcGxW5SL5Z7+rkLhKIYfNf2qXWoLrPG2XuF+s"
        "7aBD2f7O2r13QpxxNUf5qxxv1ej7KT7ocoiQBOjoJbBRVTZdlWxbSK2NBZHl1ty/1jD8d/Gz8vvNjERwWX18M3AHuJc1Gug0eUms"
        "zrM4/UA==,keyFactoryAlgorithm:PBKDF2WithHmacSHA512,cipherAlgorithm:AES/CBC/PKCS5Padding,iterations:4"
        "096,passwordLength:0,encryptedPassword:dcaDbE8Vk4wt8PvX0FET+Q=="
    ),
    (
        "initializationVector:SFqGtY3sKJIg7s8ifnvHTQ==,keyLength:256,salt:cak6abs9GkNkhCNfKjspAmMPQ1+fvmLnZYp"
        "4TpJZkow3rnR9gf7+TXq399SeZDxEycoaj/5TF91PmfxX7jhl1iGl5HdH5LK9reCQJ2BbhxErwflc2UkU8XSj3D0TrRdCIazOHjQ"
        "vuP36Tzp52d58588tOMeJPzU9VlBMmG60jj7G0U5ZtGXKljTCeNJk+hKbrdog7zwd/YAUV33cqVOzpkAIOi8BluFVzld/0Kkdxgo"
        "P8bcXPhLyKDd8tRWPakJf/Xh4k5UD/RL23c3RK+jEnBBDJjABxf/pX+QufEKuqFu12r/PzLAkmwB454Kj62SubZDgL/n7+t4RaJa"
        "jKmqNFg==,keyFactoryAlgorithm:PBKDF2WithHmacSHA1,cipherAlgorithm:AES/CFB/PKCS5Padding,iterations:409"
        "6,passwordLength:17,encryptedPassword:QDQSHCvebNg4Oc3403rn4kdw+LxNMh+fFnUMOSO0c8s="
    ),
    (
        "initializationVector:yq3FLMDMHbNUCjGA/uZNcg==,keyLength:192,salt:F/aV4J83IidGtReHB/BGq8ysKdivKw2dM7U"
        "+imYM/ocBr7rpuOczdQsctQPel7GBZAkV2vL3uVzK1htve7aSAI3r6lNylV9tG9hTLCey3ZdGiHC0g4ZMnsGE+xHv5S6vbFfSCf4"
        "CgxhIYChxhe33TwriUgTajIMn4zMK/S1VJyvhwJHGvx/vbILyckC7686gYtnZlk5A8afV6FOZejHqoFeNk0rMiJ+EJ9OXyk7lw9o"
        "aqZl/Dxc+rDcUowX16G16vP7SPGTCGXfP0hkxKuCZHpvsrMA5unzkbX+tC+ZaROiZjXslka9h34T4XkzhR0D7Qm0O9IIUyPOuNK/"
        "yIHf4CQ==,keyFactoryAlgorithm:PBKDF2WithHmacSHA256,cipherAlgorithm:AES/OFB/PKCS5Padding,iterations:4"
        "096,passwordLength:17,encryptedPassword:pNnzmSDyKT4Gfyef/vDi3wQhCSXQD9GHEq4HyBTulbc="
    ),
    (
        "initializationVector:J54osU+vmxbXqahh,keyLength:128,salt:DJCZqJZtcSPbrr4Z0uXXIJ8TYyPdRWPJELo9/3ECrmS"
        "E/2mdZzsCU09YvoN+U4jHZY7vdCu1MbAm+i/HLAIFhztRZXhWGKQv+Nw/kxDBlwC24O2R1rtIe85RV2ZCkfsuCvpS7/iHEAQ7J8C"
        "gAkgc4/ZTpK1MHsdwO0TH1faLmPeB0sS3+54rDs1+aOiCaC+qNZ3eQ000dl7+ou2Pj1isR7Dv7kh7dmydKEj6gaWZS+aZAlvVfVb"
        "UVVCRA+xww/gAhLkcJ2AR2pK/9N0x1L5KrQjgGFmO5DVggzInresyy6ewkToPeR/kwD/2h5sBjIJVhIUrWRM9Zh85UU0Sdp+MSQ="
        "=,keyFactoryAlgorithm:PBKDF2WithHmacSHA512,cipherAlgorithm:AES/GCM/NoPadding,authenticationTagLength"
        ":128,iterations:4096,passwordLength:17,encryptedPassword:V+wywYeb07cYdGCNOoazsAjUoH4O3WlV6gCdoVAsiy3"
        "i40iXzk0="
    ),
    (
        "initializationVector:ctqfroJqWU+HuCoxsq1zwQ==,keyLength:128,salt:PTFpFLfYYObZ0yyDLvqe0cJKZtEq543D62s"
        "FaA5V6pzVHw6o/aNaSvXp+Lk+ATkFEEQ+SYKQ67LZ1PK0+8cM2WnpwLenLrVbz67tGdxJmlDOH+lMoBvVgUyLisHMHLlzwq2r8/U"
        "r3VlQPYi5B+OUEqKdzXn1QviUaV2FJ5yFmldXY75YgYv8ha8oZJR1+v9A921T8jpfGGVEwybAzwNcaOBZDCHdBPvmJGxuOcETgIM"
        "ExZMfPbkL3uTvmP36WjfhdaN1CBvxBryg83DB95E5yaT+kw4ZzdMnNUcz6/jNfzWquAyvjmgnCrqOSo0/jp8qW6jtEVszhUOuD0u"
        "+N3INhw==,keyFactoryAlgorithm:PBKDF2WithHmacSHA512,cipherAlgorithm:AES/CTR/NoPadding,iterations:4096"
        ",passwordLength:17,encryptedPassword:oGkbXKFrRdhbRSQ2FNtVBw2gblC0Zw=="
    ),
]
"""AES/CBC of a password and of an empty one, AES/CFB (256 bits, SHA1), AES/OFB (192 bits, SHA256), AES/GCM, AES/CTR."""


@pytest.mark.parametrize("number", range(len(OF_APACHE)))
def test_what_apache_has_encoded_is_read(number: int) -> None:
    assert PasswordEncoder(SECRET).decode(OF_APACHE[number]).value == ("" if number == 1 else PASSWORD)


def test_our_text_has_the_fields_of_apaches_in_its_order() -> None:
    ours = PasswordEncoder(SECRET).encode(Password(PASSWORD))
    names = [part.partition(":")[0] for part in ours.split(",")]
    assert names == [part.partition(":")[0] for part in OF_APACHE[0].split(",")]
    assert PASSWORD not in ours


@settings(max_examples=15, deadline=None)
@given(
    st.text(max_size=40),
    st.sampled_from(
        [
            "AES/CBC/PKCS5Padding",
            "AES/CFB/PKCS5Padding",
            "AES/OFB/PKCS5Padding",
            "AES/CTR/NoPadding",
            "AES/GCM/NoPadding",
        ]
    ),
    st.sampled_from([128, 192, 256]),
)
def test_what_is_encoded_is_decoded(password: str, cipher: str, bits: int) -> None:
    encoder = PasswordEncoder(SECRET, "PBKDF2WithHmacSHA256", cipher, bits, 1024)
    try:
        password.encode()
    except UnicodeEncodeError:
        return
    assert PasswordEncoder(SECRET).decode(encoder.encode(Password(password))).value == password


def test_two_texts_of_one_password_differ() -> None:
    encoder = PasswordEncoder(SECRET, iterations=1024)
    assert encoder.encode(Password("x")) != encoder.encode(Password("x"))


@pytest.mark.parametrize("text", OF_APACHE[2:5])
def test_another_secret_reads_nothing(text: str) -> None:
    with pytest.raises(PasswordDecodeError, match="could not be decoded") as caught:
        PasswordEncoder(Password("second-one")).decode(text)
    assert "second-one" not in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "plain",
        OF_APACHE[0].replace("iterations:4096", "iterations:2000000000"),
        OF_APACHE[0].replace("keyLength:128", "keyLength:4"),
        OF_APACHE[0].replace("AES/CBC", "DES/CBC"),
        OF_APACHE[0].replace("passwordLength:17", "passwordLength:3"),
        OF_APACHE[0].replace("salt:", "salt:***"),
        "x" * (2 << 20),
    ],
)
def test_malformed_texts(text: str) -> None:
    with pytest.raises(PasswordDecodeError):
        PasswordEncoder(SECRET).decode(text)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (("MD5",), "password.encoder.keyfactory.algorithm"),
        ((None, "DES/CBC/PKCS5Padding"), "password.encoder.cipher.algorithm"),
        ((None, "AES/GCM/PKCS5Padding"), "password.encoder.cipher.algorithm"),
        ((None, "AES/CBC/PKCS5Padding", 100), "password.encoder.key.length"),
        ((None, "AES/CBC/PKCS5Padding", 128, 1 << 30), "password.encoder.iterations"),
    ],
)
def test_algorithms_that_are_not_known_are_named(arguments: tuple[str, str, int, int], name: str) -> None:
    with pytest.raises(ConfigException, match=name):
        PasswordEncoder(SECRET, *arguments)


def test_no_secret_in_its_repr() -> None:
    assert "encoder-secret" not in repr(PasswordEncoder(SECRET))
