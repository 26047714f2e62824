"""TLS, SASL, tokens, secrets."""

from __future__ import annotations

from kafkapy.common.config_def import Importance, Password, UpdateMode
from kafkapy.common.config_table import ConfigTable, config
from kafkapy.common.config_validators import NonNull, OneOf, at_least
from kafkapy.common.wire_enums import ConfigType

BOOLEAN, STRING, INT, SHORT = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.SHORT
LONG, DOUBLE, LIST, CLASS = ConfigType.LONG, ConfigType.DOUBLE, ConfigType.LIST, ConfigType.CLASS
PASSWORD = ConfigType.PASSWORD
HIGH, MEDIUM, LOW = Importance.HIGH, Importance.MEDIUM, Importance.LOW
PER_BROKER = UpdateMode.PER_BROKER


class SecurityConfigs(ConfigTable):
    authorizer_class_name: str = config(
        STRING, "", NonNull(), "Authorizer of requests; empty lets everyone do everything.", LOW)
    connections_max_reauth_ms: int = config(LONG, 0, None, "Life of a SASL session; 0 is without end.")
    delegation_token_expiry_check_interval_ms: int = config(LONG, 3600000, at_least(1), "Token expiry scan.", LOW)
    delegation_token_expiry_time_ms: int = config(LONG, 86400000, at_least(1), "Renew period of a token.")
    delegation_token_master_key: Password | None = config(
        PASSWORD, None, None, "Deprecated name of delegation.token.secret.key.")
    delegation_token_max_lifetime_ms: int = config(LONG, 604800000, at_least(1), "Hard life limit of a token.")
    delegation_token_secret_key: Password | None = config(
        PASSWORD, None, None, "Secret for token HMACs; unset = tokens off.")
    password_encoder_cipher_algorithm: str = config(
        STRING, "AES/CBC/PKCS5Padding", None, "Cipher of passwords in ZooKeeper.", LOW)
    password_encoder_iterations: int = config(INT, 4096, at_least(1024), "Iterations of the key derivation.", LOW)
    password_encoder_key_length: int = config(INT, 128, at_least(8), "Length of the derived key, bits.", LOW)
    password_encoder_keyfactory_algorithm: str | None = config(
        STRING, None, None, "Key factory; unset is PBKDF2WithHmacSHA512.", LOW)
    password_encoder_old_secret: Password | None = config(
        PASSWORD, None, None,
        "The secret before a change of password.encoder.secret: what is stored is re-encoded at start.")
    password_encoder_secret: Password | None = config(
        PASSWORD, None, None, "Secret that passwords in ZooKeeper are encrypted with.")
    principal_builder_class: str = config(
        CLASS, "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder", None,
        "Class that makes a principal of a connection.", MEDIUM, PER_BROKER)
    sasl_client_callback_handler_class: str | None = config(
        CLASS, None, None, "SASL: callback handler of this broker as a client.")
    sasl_enabled_mechanisms: list[str] = config(
        LIST, "GSSAPI", None, "SASL mechanisms that are offered.", MEDIUM, PER_BROKER)
    sasl_jaas_config: Password | None = config(
        PASSWORD, None, None,
        "SASL: login context; brokers take it with listener and mechanism prefix.", MEDIUM, PER_BROKER)
    sasl_kerberos_kinit_cmd: str = config(
        STRING, "/usr/bin/kinit", None, "Kerberos: path of kinit.", MEDIUM, PER_BROKER)
    sasl_kerberos_min_time_before_relogin: int = config(
        LONG, 60000, None, "Kerberos: least time between two logins, ms.", MEDIUM, PER_BROKER)
    sasl_kerberos_principal_to_local_rules: list[str] = config(
        LIST, "DEFAULT", None, "Kerberos: rules that map a principal to a short name.", MEDIUM, PER_BROKER)
    sasl_kerberos_service_name: str | None = config(
        STRING, None, None, "Kerberos: the name the broker runs as.", MEDIUM, PER_BROKER)
    sasl_kerberos_ticket_renew_jitter: float = config(
        DOUBLE, 0.05, None, "Kerberos: random part of the renewal time.", MEDIUM, PER_BROKER)
    sasl_kerberos_ticket_renew_window_factor: float = config(
        DOUBLE, 0.8, None, "Kerberos: share of a ticket's life after which it is renewed.", MEDIUM, PER_BROKER)
    sasl_login_callback_handler_class: str | None = config(CLASS, None, None, "SASL: callback handler of logins.")
    sasl_login_class: str | None = config(CLASS, None, None, "SASL: class of logins.")
    sasl_login_connect_timeout_ms: int | None = config(
        INT, None, None, "OAuth: timeout of connecting to the provider.", LOW)
    sasl_login_read_timeout_ms: int | None = config(
        INT, None, None, "OAuth: timeout of reading from the provider.", LOW)
    sasl_login_refresh_buffer_seconds: int = config(
        SHORT, 300, None,
        "OAuth: seconds before its end at which a token is renewed at the latest.", MEDIUM, PER_BROKER)
    sasl_login_refresh_min_period_seconds: int = config(
        SHORT, 60, None, "OAuth: least seconds between two renewals.", MEDIUM, PER_BROKER)
    sasl_login_refresh_window_factor: float = config(
        DOUBLE, 0.8, None, "OAuth: share of a token's life after which it is renewed.", MEDIUM, PER_BROKER)
    sasl_login_refresh_window_jitter: float = config(
        DOUBLE, 0.05, None, "OAuth: random part of that share.", MEDIUM, PER_BROKER)
    sasl_login_retry_backoff_max_ms: int = config(LONG, 10000, None, "OAuth: longest wait between two tries.", LOW)
    sasl_login_retry_backoff_ms: int = config(LONG, 100, None, "OAuth: first wait between two tries.", LOW)
    sasl_mechanism_inter_broker_protocol: str = config(
        STRING, "GSSAPI", None, "SASL mechanism between brokers.", MEDIUM, PER_BROKER)
    sasl_oauthbearer_clock_skew_seconds: int = config(INT, 30, None, "OAuth: seconds that clocks may differ.", LOW)
    sasl_oauthbearer_expected_audience: list[str] | None = config(
        LIST, None, None, "OAuth: audiences that are accepted.", LOW)
    sasl_oauthbearer_expected_issuer: str | None = config(STRING, None, None, "OAuth: issuer that is accepted.", LOW)
    sasl_oauthbearer_jwks_endpoint_refresh_ms: int = config(
        LONG, 3600000, None, "OAuth: how long the provider's keys are kept.", LOW)
    sasl_oauthbearer_jwks_endpoint_retry_backoff_max_ms: int = config(
        LONG, 10000, None, "OAuth: longest wait between two tries to get keys.", LOW)
    sasl_oauthbearer_jwks_endpoint_retry_backoff_ms: int = config(
        LONG, 100, None, "OAuth: first wait between two tries to get keys.", LOW)
    sasl_oauthbearer_jwks_endpoint_url: str | None = config(STRING, None, None, "OAuth: where the provider's keys are.")
    sasl_oauthbearer_scope_claim_name: str = config(STRING, "scope", None, "OAuth: claim that holds the scope.", LOW)
    sasl_oauthbearer_sub_claim_name: str = config(STRING, "sub", None, "OAuth: claim that holds the subject.", LOW)
    sasl_oauthbearer_token_endpoint_url: str | None = config(STRING, None, None, "OAuth: where tokens come from.")
    sasl_server_callback_handler_class: str | None = config(
        CLASS, None, None, "SASL: callback handler of the broker; takes listener and mechanism prefix.")
    sasl_server_max_receive_size: int = config(INT, 524288, None, "SASL: largest frame before authentication, bytes.")
    security_providers: str | None = config(STRING, None, None, "Java security providers.", LOW)
    ssl_allow_dn_changes: bool = config(
        BOOLEAN, False, None, "TLS: a new keystore may carry another distinguished name.", LOW)
    ssl_allow_san_changes: bool = config(
        BOOLEAN, False, None, "TLS: a new keystore may carry other subject alternative names.", LOW)
    ssl_cipher_suites: list[str] = config(LIST, "", None, "TLS: cipher suites; empty is all.", MEDIUM, PER_BROKER)
    ssl_client_auth: str = config(
        STRING, "none", OneOf("required", "requested", "none"),
        "TLS: whether clients must, may or need not present a certificate.", MEDIUM, PER_BROKER)
    ssl_enabled_protocols: list[str] = config(
        LIST, "TLSv1.2,TLSv1.3", None, "TLS: versions that are on.", MEDIUM, PER_BROKER)
    ssl_endpoint_identification_algorithm: str = config(
        STRING, "https", None, "TLS: how a server's name is checked; empty checks nothing.", LOW, PER_BROKER)
    ssl_engine_factory_class: str | None = config(
        CLASS, None, None, "TLS: plug-in that makes engines.", LOW, PER_BROKER)
    ssl_key_password: Password | None = config(
        PASSWORD, None, None, "TLS: password of the private key.", MEDIUM, PER_BROKER)
    ssl_keymanager_algorithm: str = config(STRING, "SunX509", None, "TLS: key manager algorithm.", MEDIUM, PER_BROKER)
    ssl_keystore_certificate_chain: Password | None = config(
        PASSWORD, None, None, "TLS: certificate chain as PEM text.", MEDIUM, PER_BROKER)
    ssl_keystore_key: Password | None = config(
        PASSWORD, None, None, "TLS: private key as PEM text.", MEDIUM, PER_BROKER)
    ssl_keystore_location: str | None = config(STRING, None, None, "TLS: file of the keystore.", MEDIUM, PER_BROKER)
    ssl_keystore_password: Password | None = config(
        PASSWORD, None, None, "TLS: password of the keystore.", MEDIUM, PER_BROKER)
    ssl_keystore_type: str = config(
        STRING, "JKS", None, "TLS: format of the keystore: JKS, PKCS12 or PEM.", MEDIUM, PER_BROKER)
    ssl_principal_mapping_rules: str = config(
        STRING, "DEFAULT", None, "TLS: rules that map a distinguished name to a short name.", LOW)
    ssl_protocol: str = config(STRING, "TLSv1.3", None, "TLS: version that is preferred.", MEDIUM, PER_BROKER)
    ssl_provider: str | None = config(STRING, None, None, "TLS: name of the provider.", MEDIUM, PER_BROKER)
    ssl_secure_random_implementation: str | None = config(
        STRING, None, None, "TLS: source of random numbers.", LOW, PER_BROKER)
    ssl_trustmanager_algorithm: str = config(STRING, "PKIX", None, "TLS: trust manager algorithm.", MEDIUM, PER_BROKER)
    ssl_truststore_certificates: Password | None = config(
        PASSWORD, None, None, "TLS: trusted certificates as PEM text.", MEDIUM, PER_BROKER)
    ssl_truststore_location: str | None = config(STRING, None, None, "TLS: file of the truststore.", MEDIUM, PER_BROKER)
    ssl_truststore_password: Password | None = config(
        PASSWORD, None, None, "TLS: password of the truststore.", MEDIUM, PER_BROKER)
    ssl_truststore_type: str = config(
        STRING, "JKS", None, "TLS: format of the truststore: JKS, PKCS12 or PEM.", MEDIUM, PER_BROKER)
    zookeeper_clientCnxnSocket: str | None = config(
        STRING, None, None, "ZooKeeper over TLS: Java's client socket class.")
    zookeeper_set_acl: bool = config(BOOLEAN, False, None, "Let only this principal change the znodes.", HIGH)
    zookeeper_ssl_cipher_suites: list[str] | None = config(LIST, None, None, "ZooKeeper over TLS: cipher suites.", LOW)
    zookeeper_ssl_client_enable: bool = config(BOOLEAN, False, None, "ZooKeeper over TLS: on or off.")
    zookeeper_ssl_crl_enable: bool = config(
        BOOLEAN, False, None, "ZooKeeper over TLS: check certificate revocation lists.", LOW)
    zookeeper_ssl_enabled_protocols: list[str] | None = config(
        LIST, None, None, "ZooKeeper over TLS: versions that are on.", LOW)
    zookeeper_ssl_endpoint_identification_algorithm: str = config(
        STRING, "HTTPS", None, "ZooKeeper over TLS: how the server's name is checked; empty checks nothing.", LOW)
    zookeeper_ssl_keystore_location: str | None = config(
        STRING, None, None, "ZooKeeper over TLS: file of the keystore.")
    zookeeper_ssl_keystore_password: Password | None = config(
        PASSWORD, None, None, "ZooKeeper over TLS: password of the keystore.")
    zookeeper_ssl_keystore_type: str | None = config(STRING, None, None, "ZooKeeper over TLS: format of the keystore.")
    zookeeper_ssl_ocsp_enable: bool = config(BOOLEAN, False, None, "ZooKeeper over TLS: check revocation online.", LOW)
    zookeeper_ssl_protocol: str = config(STRING, "TLSv1.2", None, "ZooKeeper over TLS: version that is preferred.", LOW)
    zookeeper_ssl_truststore_location: str | None = config(
        STRING, None, None, "ZooKeeper over TLS: file of the truststore.")
    zookeeper_ssl_truststore_password: Password | None = config(
        PASSWORD, None, None, "ZooKeeper over TLS: password of the truststore.")
    zookeeper_ssl_truststore_type: str | None = config(
        STRING, None, None, "ZooKeeper over TLS: format of the truststore.")
