"""A broker's schema registry, from its properties: `kafkapy.schema.registry.url`, and the configs of its client."""

from __future__ import annotations

from collections.abc import MutableMapping

from kafkapy.log import schema_configs

TIMEOUT_MS = 2_000
"""Time-out for each part of a response; a record thread waits for it."""
_OPTIONS = {
    "kafkapy.schema.registry.basic.auth.user.info": "basic_auth_user_info",
    "kafkapy.schema.registry.ssl.ca.location": "ssl_cafile",
}
CONFIGS = (schema_configs.REGISTRY_URL, *_OPTIONS)


def install_schema_gate(properties: MutableMapping[str, str]) -> None:
    """Install the gate, and remove its configs from the properties. Without a URL there is none. Raises ValueError, OSError."""
    options = {name: properties.pop(config) for config, name in _OPTIONS.items() if config in properties}
    url = properties.pop(schema_configs.REGISTRY_URL, "").strip()
    if not url:
        schema_configs.install(None)
        return
    from kafkapy.errors import KafkaConfigurationError
    from kafkapy.schemas.errors import SchemaRegistryError
    from kafkapy.schemas.registry_client import SchemaRegistryClient
    from kafkapy.server.registry_gate import RegistryGate

    try:
        registry = SchemaRegistryClient(url, timeout_ms=TIMEOUT_MS, max_retries=1, **options)  # type: ignore[arg-type]
    except KafkaConfigurationError as error:
        raise ValueError(f"{schema_configs.REGISTRY_URL}: {error.message}") from error

    def subjects_of(schema_id: int) -> list[str] | None:
        try:
            return registry.get_subjects_by_schema_id(schema_id)
        except SchemaRegistryError as error:
            if error.http_status_code == 404:
                return None
            raise

    schema_configs.install(RegistryGate(subjects_of))
