from __future__ import annotations

import importlib
from importlib.machinery import ModuleSpec

import pytest

from kafkapy.common import extras


@pytest.mark.parametrize(
    ("module", "library", "extra"),
    [
        ("avro", "fastavro", "avro"),
        ("json_schema", "jsonschema", "json-schema"),
        ("protobuf", "google.protobuf", "protobuf"),
        ("arrow", "pyarrow", "arrow"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(
    monkeypatch: pytest.MonkeyPatch, module: str, library: str, extra: str
) -> None:
    pytest.importorskip(library)
    loaded = importlib.import_module(f"kafkapy.schemas.{module}")

    def find_spec(name: str) -> ModuleSpec | None:
        return None if name == library else ModuleSpec(name, None)

    extras.need.cache_clear()
    monkeypatch.setattr(extras, "find_spec", find_spec)
    with pytest.raises(extras.MissingExtra, match=rf"{library}.*pip install 'kafkapy\[{extra}\]'"):
        importlib.reload(loaded)
    extras.need.cache_clear()
