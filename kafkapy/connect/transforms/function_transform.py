"""Changes records by a function of the user's (`kafkapy.connect.transforms.Function`)."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from inspect import iscoroutinefunction
from typing import Any, Final, cast

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.errors import DataException
from kafkapy.connect.records import ConnectRecord
from kafkapy.connect.transforms.transformation import R, Transformation

_KNOWN: Final = ("function", "type", "predicate", "negate")


class FunctionTransform(Transformation):
    """Calls a function `record -> record or None` for each record; None drops it, errors are those of the transform.

    Settings:
        function: `package.module:function`; the worker must be able to import it, for example from `plugin.path`.
            Required.

    Raises:
        ConfigException: The function cannot be imported or called.
        DataException: It has returned something else than a record or None.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> transform = FunctionTransform()
        >>> transform.configure({"function": "copy:copy"})
        >>> transform.apply(SourceRecord({}, {}, "topic")).topic
        'topic'
    """

    java_class = "kafkapy.connect.transforms.Function"
    version = "undefined"
    _DEFINITIONS = ConfigDef().define("function", importance=Importance.HIGH, doc="`package.module:function`.")

    def config(self) -> ConfigDef:
        return self._DEFINITIONS

    def configure(self, configs: Mapping[str, object]) -> None:
        unknown = sorted(name for name in configs if name not in _KNOWN)
        if unknown:
            raise ConfigException(f"The transform has no setting {unknown[0]}; it has only function")
        self._path: str = self._DEFINITIONS.parse(configs)["function"]
        self._function = _imported(self._path)

    def apply(self, record: R) -> R | None:
        found: Any = self._function(record)
        if found is not None and not isinstance(found, ConnectRecord):
            raise DataException(f"{self._path} returned {type(found).__name__}; it must return a record or None")
        return cast(R | None, found)


def _imported(path: str) -> Any:
    module, colon, name = path.partition(":")
    if not (module and colon and name):
        raise ConfigException(f"function is {path!r}; write package.module:function")
    try:
        found: Any = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:  # importing the module may raise anything
        raise ConfigException(f"{path} cannot be imported: {error}") from error
    if not callable(found) or iscoroutinefunction(found):
        raise ConfigException(f"{path} is no function that can be called with a record")
    return found
