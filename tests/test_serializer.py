from __future__ import annotations

from typing import Any

import pytest

from kafkapy import DefaultSerializer, Deserializer, JsonSerializer, Serializer
from kafkapy.serializer import DeserializeWrapper, SerializeWrapper


def test_text_and_bytes() -> None:
    text = DefaultSerializer()
    assert text.serialize("t", [], "é") == b"\xc3\xa9"
    assert text.serialize("t", [], b"raw") == b"raw"
    assert text.serialize("t", [], None) is None
    assert DefaultSerializer("latin-1").deserialize("t", [], b"\xe9") == "é"
    assert text.deserialize("t", [], None) is None
    text.close()


def test_json() -> None:
    json = JsonSerializer()
    written = json.serialize("t", [], {"a": [1, None]})
    assert isinstance(written, bytes)
    assert json.deserialize("t", [], written) == {"a": [1, None]}
    assert json.serialize("t", [], None) is None


def test_functions() -> None:
    assert SerializeWrapper(str.encode).serialize("t", [], "a") == b"a"
    assert DeserializeWrapper(bytes.decode).deserialize("t", [], b"a") == "a"
    number: Any = 5
    assert (
        SerializeWrapper(None).serialize("t", [], number) == DeserializeWrapper(None).deserialize("t", [], number) == 5
    )


def test_the_interfaces_are_abstract() -> None:
    for interface in (Serializer, Deserializer):
        with pytest.raises(TypeError):
            interface()  # type: ignore[abstract]
