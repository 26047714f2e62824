"""Objects named by import path."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.security.import_path import ImportPathError, import_object, make_callback_handler
from kafkapy.security.jaas import LoginModule, parse_jaas_config

HERE = __name__
CONFIG = "sasl.server.callback.handler.class"


class Handler:
    told: tuple[Any, ...] = ()

    def configure(self, configs: Any, mechanism: str, modules: Any) -> None:
        self.told = (configs, mechanism, modules)

    def authenticate(self, username: str, password: str) -> bool:
        return True


class Demanding(Handler):
    def __init__(self, more: int) -> None: ...


READY = Handler()


@pytest.mark.parametrize("path", ["collections:OrderedDict", "collections.OrderedDict"])
def test_both_spellings(path: str) -> None:
    from collections import OrderedDict

    assert import_object(path, CONFIG) is OrderedDict


@pytest.mark.parametrize(
    ("path", "cause"),
    [
        ("", "is no import path"),
        ("Handler", "is no import path"),
        ("module:", "is no import path"),
        ("org.apache.kafka.Handler", "cannot be imported: ModuleNotFoundError"),
        ("collections:Nothing", "cannot be imported: AttributeError"),
        ("..collections:OrderedDict", "cannot be imported: TypeError"),
    ],
)
def test_wrong_paths(path: str, cause: str) -> None:
    with pytest.raises(ImportPathError, match=f"{CONFIG}.*{cause}"):
        import_object(path, CONFIG)


@pytest.mark.parametrize("name", ["Handler", "READY"])
def test_a_handler_is_made_and_configured(name: str) -> None:
    modules: tuple[LoginModule, ...] = parse_jaas_config("x.M required;")
    handler = make_callback_handler(f"{HERE}:{name}", CONFIG, "authenticate", "PLAIN", {"a": 1}, modules)
    assert handler.told == ({"a": 1}, "PLAIN", modules)


@pytest.mark.parametrize(("name", "cause"), [("Demanding", "cannot be made"), ("HERE", "has no method authenticate")])
def test_handlers_of_no_use(name: str, cause: str) -> None:
    with pytest.raises(ImportPathError, match=cause):
        make_callback_handler(f"{HERE}:{name}", CONFIG, "authenticate", "PLAIN", {}, ())
