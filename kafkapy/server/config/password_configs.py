"""`password.encoder.*`: how dynamic configs that are passwords lie in ZooKeeper."""

from __future__ import annotations

from kafkapy.common.config_def import Password
from kafkapy.security.password_encoder import PasswordEncoder
from kafkapy.server.config.config_values import ConfigValues


def password_encoder(config: ConfigValues, secret: Password | None) -> PasswordEncoder | None:
    """The encoder with that secret and the algorithms of `password.encoder.*`; None without a secret.

    Raises:
        ConfigException: An algorithm is not known.
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
