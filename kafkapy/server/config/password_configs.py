"""`password.encoder.*`: encodes passwords of dynamic configs in ZooKeeper."""

from __future__ import annotations

from kafkapy.common.config_def import Password
from kafkapy.security.password_encoder import PasswordEncoder
from kafkapy.server.config.config_values import ConfigValues


def password_encoder(config: ConfigValues, secret: Password | None) -> PasswordEncoder | None:
    """Return the encoder with that secret and the algorithms of `password.encoder.*`; None without a secret.

    Raises:
        ConfigException: An algorithm is unknown.
    """
    if secret is None:
        return None
    return PasswordEncoder(
        secret,
        config.password_encoder_keyfactory_algorithm,
        config.password_encoder_cipher_algorithm,
        config.password_encoder_key_length,
        config.password_encoder_iterations,
    )
