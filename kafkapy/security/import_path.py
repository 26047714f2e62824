"""Users' own objects, named by import path: the counterpart of Java classes in `sasl.server.callback.handler.class`,
`principal.builder.class` and the like.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from kafkapy.security.jaas import LoginModule


class ImportPathError(ValueError):
    """No usable object has the path. The message names the config."""


def import_object(path: str, config: str) -> Any:
    """Return the object named `package.module:Name` or `package.module.Name`.

    Args:
        path: The path.
        config: The config's name, for errors.

    Raises:
        ImportPathError: There is no such module or name, or the import fails.

    Example:
        >>> import_object("collections:OrderedDict", "principal.builder.class").__name__
        'OrderedDict'
    """
    module, colon, name = path.partition(":")
    if not colon:
        module, _, name = path.rpartition(".")
    if not module or not name:
        raise ImportPathError(f"{config}: {path!r} is no import path; it must read like package.module:Name")
    try:
        value = import_module(module)
        for part in name.split("."):
            value = getattr(value, part)
    except Exception as error:
        raise ImportPathError(f"{config}: {path} cannot be imported: {type(error).__name__}: {error}") from error
    return value


def make_callback_handler(
    path: str, config: str, method: str, mechanism: str, configs: Mapping[str, Any], modules: Sequence[LoginModule]
) -> Any:
    """The handler that `sasl.server.callback.handler.class` names, ready for use.

    A class is called without arguments. Then `configure(configs, mechanism, modules)` is called if the handler has it, as Kafka
    calls `AuthenticateCallbackHandler.configure`.

    Args:
        path: Import path of a class, or of an object.
        config: The config's name, for errors.
        method: The method that the mechanism will call: `authenticate` for PLAIN, `validate` for OAUTHBEARER.
        mechanism: `PLAIN`, for one.
        configs: The listener's configs.
        modules: Its JAAS configuration.

    Raises:
        ImportPathError: It cannot be imported or made, or does not have the method.
    """
    value = import_object(path, config)
    if isinstance(value, type):
        try:
            value = value()
        except Exception as error:
            raise ImportPathError(f"{config}: {path} cannot be made: {type(error).__name__}: {error}") from error
    if not callable(getattr(value, method, None)):
        raise ImportPathError(f"{config}: {path} has no method {method}, which {mechanism} needs")
    configure = getattr(value, "configure", None)
    if callable(configure):
        configure(configs, mechanism, modules)
    return value
