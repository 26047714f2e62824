"""Config providers: values from files, directories, environment (KIP-297, KIP-421, KIP-887). Values are never
logged."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Collection, Mapping
from pathlib import Path

from kafkapy.common.config_def import ConfigException
from kafkapy.common.properties import load_file

log = logging.getLogger("kafkapy.connect.herder")

_MOST_BYTES = 8 * 1024 * 1024


class ConfigData(dict[str, str]):
    """Values of a config provider that expire.

    Args:
        values: Key -> value.
        ttl_ms: After this time connectors with these values are restarted, unless their `config.action.reload` is none.
            None: they do not expire.

    Example:
        >>> ConfigData({"password": "s"}, 60_000)["password"]
        's'
    """

    def __init__(self, values: Mapping[str, str], ttl_ms: int | None = None) -> None:
        super().__init__(values)
        self.ttl_ms = ttl_ms


class ConfigProvider:
    """Base class of config providers; a worker instantiates them without arguments (Kafka's `ConfigProvider`)."""

    def configure(self, configs: Mapping[str, str]) -> None:
        """Receive the configs `config.providers.NAME.param.*`, without that prefix. Raises ConfigException."""

    def get(self, path: str, keys: Collection[str]) -> Mapping[str, str]:
        """Return the values of those keys that exist; `ConfigData` if they expire.

        Args:
            path: The part between provider and key; empty if there is none.
            keys: The keys.

        Raises:
            ConfigException: The path cannot be read.
        """
        raise NotImplementedError

    def close(self) -> None:
        """Release the resources that `configure` has opened."""


class _PathProvider(ConfigProvider):
    """Reads only below `allowed.paths`: comma-separated directories and files. Default: all paths are allowed."""

    def __init__(self) -> None:
        self._allowed: list[Path] | None = None

    def configure(self, configs: Mapping[str, str]) -> None:
        text = configs.get("allowed.paths")
        if not text:
            return
        self._allowed = []
        for part in map(str.strip, text.split(",")):
            path = Path(part)
            if not path.is_absolute():
                raise ConfigException(f"Path {part} is not absolute")
            if not path.exists():
                raise ConfigException(f"Path {part} does not exist")
            self._allowed.append(path.resolve())

    def _permits(self, path: Path) -> bool:
        if self._allowed is None:
            return True
        resolved = path.resolve()
        permitted = any(resolved.is_relative_to(allowed) for allowed in self._allowed)
        if not permitted:
            log.warning("The path %s is not permitted to be accessed", path)
        return permitted


class FileConfigProvider(_PathProvider):
    """`${file:/path/to.properties:key}`."""

    def get(self, path: str, keys: Collection[str]) -> Mapping[str, str]:
        if not path or not self._permits(Path(path)):
            return {}
        try:
            properties = load_file(path)
        except (OSError, ValueError):
            raise ConfigException(f"Could not read properties from file {path}") from None
        return {key: properties[key] for key in keys if key in properties}


class DirectoryConfigProvider(_PathProvider):
    """`${directory:/path:file-name}`: the whole content of a file, for mounted secrets."""

    def get(self, path: str, keys: Collection[str]) -> Mapping[str, str]:
        directory = Path(path)
        if not path or not self._permits(directory):
            return {}
        if not directory.is_dir():
            log.warning("The path %s is not a directory", path)
            return {}
        found = {}
        for key in keys:
            file = directory / key
            if key and file.name == key and file.is_file() and self._permits(file):
                try:
                    with file.open("rb") as opened:
                        found[key] = opened.read(_MOST_BYTES).decode("utf-8", "replace")
                except OSError:
                    raise ConfigException(f"Could not read file {file} for property {key}") from None
        return found


class EnvVarConfigProvider(ConfigProvider):
    """`${env::NAME}`; `allowlist.pattern`: a regular expression that a name must match."""

    def __init__(self) -> None:
        self._pattern = re.compile(".*", re.DOTALL)

    def configure(self, configs: Mapping[str, str]) -> None:
        text = configs.get("allowlist.pattern")
        if text:
            try:
                self._pattern = re.compile(text)
            except re.error:
                raise ConfigException(f"Invalid value {text} for configuration allowlist.pattern") from None

    def get(self, path: str, keys: Collection[str]) -> Mapping[str, str]:
        if path:
            raise ConfigException(f"Path is not supported for EnvVarConfigProvider, invalid value '{path}'")
        return {key: os.environ[key] for key in keys if key in os.environ and self._pattern.fullmatch(key)}


_JAVA = "org.apache.kafka.common.config.provider."
PROVIDERS: dict[str, type[ConfigProvider]] = {
    "FileConfigProvider": FileConfigProvider,
    "DirectoryConfigProvider": DirectoryConfigProvider,
    "EnvVarConfigProvider": EnvVarConfigProvider,
}


def make_providers(configs: Mapping[str, object]) -> dict[str, ConfigProvider]:
    """Create the providers that `config.providers` lists.

    Args:
        configs: The worker's configs.

    Raises:
        ConfigException: A provider's class is missing or unknown, or rejects its configs.
    """
    found = {}
    for name in filter(None, map(str.strip, str(configs.get("config.providers") or "").split(","))):
        prefix = f"config.providers.{name}."
        class_name = configs.get(f"{prefix}class")
        if not class_name:
            raise ConfigException(f"{prefix}class is missing: the class of the config provider {name}")
        provider = _provider_class(str(class_name))()
        parameters = {
            key.removeprefix(f"{prefix}param."): str(value)
            for key, value in configs.items()
            if key.startswith(f"{prefix}param.")
        }
        provider.configure(parameters)
        found[name] = provider
    return found


def _provider_class(name: str) -> type[ConfigProvider]:
    known = PROVIDERS.get(name.removeprefix(_JAVA))
    if known is not None:
        return known
    from importlib import import_module

    module, _, attribute = name.replace(":", ".").rpartition(".")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError):
        raise ConfigException(f"The config provider class {name} cannot be found") from None
    if not (isinstance(found, type) and issubclass(found, ConfigProvider)):
        raise ConfigException(f"{name} is not a config provider")
    return found
