"""RC2 (RFC 2268) and RC4, with which older versions of keytool and OpenSSL encrypted certificates in PKCS#12.

Only for reading old stores: both are weak, and OpenSSL 3 lacks them. RC2 takes about 15 ms for 10 KB.
"""

from __future__ import annotations

import struct

_PI_TABLE = bytes.fromhex(
    "d978f9c419ddb5ed28e9fd794aa0d89dc67e37832b76538e624c6488448bfba2179a59f587b34f1361456d8d09817d32"
    "bd8f40eb86b77b0bf09521225c6b4e8254d66593ce60b21c7356c014a78cf1dc1275ca1f3bbee4d1423dd430a33cb626"
    "6fbf0eda4669075727f21d9bbc944303f811c7f690ef3ee706c3d52fc8661ed708e8eade8052eef784aa72ac354d6a2a"
    "961ad2715a1549744b9fd05e0418a4ecc2e0416e0f51cbcc2491af50a1f47039997c3a8523b8b47afc02365b25559731"
    "2d5dfa98e38a92ae05df2910676cbac9d300e6cfe19ea82c6316013f58e289a90d38341bab33ffb0bb480c5fb9b1cd2e"
    "c5f3db47e5a59c770aa62068fe7fc1ad"
)
_ROTATIONS = (1, 2, 3, 5)
BLOCK_BYTES = 8


def rc2_cbc_decrypt(key: bytes, iv: bytes, ciphertext: bytes, effective_bits: int) -> bytes:
    """Decrypt whole blocks, including padding.

    Raises:
        ValueError: The ciphertext is not a multiple of 8 bytes.
    """
    if len(ciphertext) % BLOCK_BYTES:
        raise ValueError("the ciphertext ends within a block")
    words = _expanded(key, effective_bits)
    plain = bytearray()
    before = int.from_bytes(iv, "big")
    for at in range(0, len(ciphertext), BLOCK_BYTES):
        block = ciphertext[at : at + BLOCK_BYTES]
        plain += (int.from_bytes(_decrypt_block(words, block), "big") ^ before).to_bytes(BLOCK_BYTES, "big")
        before = int.from_bytes(block, "big")
    return bytes(plain)


def rc4(key: bytes, data: bytes) -> bytes:
    """Encrypt or decrypt, which are the same operation."""
    state = list(range(256))
    j = 0
    for i in range(256):
        j = (j + state[i] + key[i % len(key)]) & 0xFF
        state[i], state[j] = state[j], state[i]
    i = j = 0
    out = bytearray(len(data))
    for at, octet in enumerate(data):
        i = (i + 1) & 0xFF
        j = (j + state[i]) & 0xFF
        state[i], state[j] = state[j], state[i]
        out[at] = octet ^ state[(state[i] + state[j]) & 0xFF]
    return bytes(out)


def _expanded(key: bytes, effective_bits: int) -> tuple[int, ...]:
    """Expand the key; RFC 2268, section 2."""
    size = len(key)
    buffer = bytearray(key) + bytes(128 - size)
    for i in range(size, 128):
        buffer[i] = _PI_TABLE[(buffer[i - 1] + buffer[i - size]) & 0xFF]
    effective_bytes = (effective_bits + 7) // 8
    mask = 0xFF >> (8 * effective_bytes - effective_bits)
    buffer[128 - effective_bytes] = _PI_TABLE[buffer[128 - effective_bytes] & mask]
    for i in range(127 - effective_bytes, -1, -1):
        buffer[i] = _PI_TABLE[buffer[i + 1] ^ buffer[i + effective_bytes]]
    return struct.unpack("<64H", buffer)


def _decrypt_block(words: tuple[int, ...], block: bytes) -> bytes:
    """Decrypt a block; RFC 2268, section 4."""
    r = list(struct.unpack("<4H", block))
    j = 63
    for mixing_round in range(16):
        for i in (3, 2, 1, 0):
            rotation = _ROTATIONS[i]
            value = (r[i] >> rotation | r[i] << 16 - rotation) & 0xFFFF
            mixed = words[j] + (r[i - 1] & r[i - 2]) + (~r[i - 1] & r[i - 3])
            r[i] = (value - mixed) & 0xFFFF
            j -= 1
        if mixing_round in (4, 10):
            for i in (3, 2, 1, 0):
                r[i] = (r[i] - words[r[i - 1] & 63]) & 0xFFFF
    return struct.pack("<4H", *r)
