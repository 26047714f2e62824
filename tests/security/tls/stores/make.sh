#!/bin/sh
# Made the stores beside it, with keytool of OpenJDK 17 and OpenSSL 3.0. Passwords: store-secret and key-secret.
set -e
gen() { keytool -genkeypair -keyalg EC -groupname secp256r1 -sigalg SHA256withECDSA -validity 36500 -storepass store-secret "$@"; }
gen -storetype JKS -keystore two_keys.jks -alias Broker -dname 'CN=broker,OU=kit' -ext SAN=dns:localhost,ip:127.0.0.1 -keypass key-secret
gen -storetype JKS -keystore two_keys.jks -alias other -dname 'CN=other,OU=kit' -keypass key-secret
gen -storetype PKCS12 -keystore two_keys.p12 -alias Broker -dname 'CN=broker,OU=kit' -ext SAN=dns:localhost,ip:127.0.0.1
gen -storetype PKCS12 -keystore two_keys.p12 -alias other -dname 'CN=other,OU=kit'
gen -J-Dkeystore.pkcs12.legacy -storetype PKCS12 -keystore legacy.p12 -alias broker -dname 'CN=broker,OU=kit'
keytool -exportcert -rfc -keystore two_keys.jks -storepass store-secret -alias broker -file broker.pem
keytool -exportcert -rfc -keystore two_keys.jks -storepass store-secret -alias other -file other.pem
for type in JKS PKCS12; do
    for alias in broker other; do
        keytool -importcert -noprompt -storetype $type -keystore trust.$type -storepass store-secret -alias $alias -file $alias.pem
    done
done
openssl pkcs12 -in legacy.p12 -legacy -passin pass:store-secret -nodes -nocerts -out key.pem
for v1 in PBE-MD5-DES PBE-SHA1-3DES PBE-SHA1-RC2-40 PBE-SHA1-RC2-128 PBE-SHA1-RC4-128 PBE-SHA1-DES PBE-SHA1-2DES PBE-MD5-RC2-64; do
    openssl pkcs8 -provider legacy -provider default -topk8 -in key.pem -v1 $v1 -passout pass:key-secret -out encrypted-$v1.pem
done
for v2 in aes128 aes256 des3; do
    openssl pkcs8 -topk8 -in key.pem -v2 $v2 -passout pass:key-secret -out encrypted-pbes2-$v2.pem
done
openssl pkcs8 -topk8 -in key.pem -scrypt -passout pass:key-secret -out encrypted-scrypt.pem
openssl ec -in key.pem -aes128 -passout pass:key-secret -out encrypted-traditional.pem
openssl pkcs12 -in legacy.p12 -legacy -passin pass:store-secret -nokeys -out legacy.pem
openssl pkcs12 -export -nokeys -in broker.pem -passout pass:store-secret -out openssl_trust.p12
openssl pkcs12 -export -inkey key.pem -in legacy.pem -passout pass:store-secret -out openssl_key.p12
