"""A Kerberos key distribution center of its own, for tests: no file of the system is read or written."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path

from kafkapy.common.free_ports import free_ports
from tests.waiting import HANG_SECONDS

REALM = "TEST.KAFKAPY"
_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def missing() -> str:
    """Which of what it needs is not there; empty: nothing."""
    programs = [name for name in ("krb5kdc", "kdb5_util", "kadmin.local") if shutil.which(name, path=_PATH) is None]
    if programs:
        return f"{', '.join(programs)} (Debian: krb5-kdc, krb5-admin-server)"
    try:
        import gssapi  # noqa: F401
    except ImportError:
        return "the extra kerberos (package gssapi)"
    return ""


class Kdc:
    """One realm, on a port of 127.0.0.1."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        (port,) = free_ports(1)
        self._directory = directory
        self._port = port
        self.config = directory / "krb5.conf"
        self.config.write_text(
            f"[libdefaults]\n default_realm = {REALM}\n dns_lookup_kdc = false\n dns_lookup_realm = false\n rdns = false\n"
            " dns_canonicalize_hostname = false\n udp_preference_limit = 1\n"
            f"[realms]\n {REALM} = {{\n  kdc = 127.0.0.1:{port}\n }}\n[domain_realm]\n localhost = {REALM}\n"
        )
        kdc_config = directory / "kdc.conf"
        kdc_config.write_text(
            f"[kdcdefaults]\n kdc_ports = {port}\n kdc_tcp_ports = {port}\n"
            f"[realms]\n {REALM} = {{\n  database_name = {directory}/principal\n  key_stash_file = {directory}/stash\n"
            f"  acl_file = {directory}/acl\n  max_life = 1h\n }}\n[logging]\n kdc = FILE:{directory}/kdc.log\n"
        )
        self.environment = {
            "KRB5_CONFIG": str(self.config),
            "KRB5CCNAME": f"FILE:{directory}/ccache",
            "KRB5RCACHEDIR": str(directory),
        }
        self._all = {**os.environ, **self.environment, "KRB5_KDC_PROFILE": str(kdc_config), "PATH": _PATH}
        self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with open(self._directory / "kdc.out", "wb") as output:
            self._process = subprocess.Popen(["krb5kdc", "-n"], env=self._all, stdout=output, stderr=output)
        deadline = time.monotonic() + HANG_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", self._port), 1).close()
                return
            except OSError:
                said = (self._directory / "kdc.out").read_text()
                assert self._process.poll() is None, said
                assert time.monotonic() < deadline, said
                time.sleep(0.02)

    def keytab(self, principal: str) -> Path:
        """Make a principal with a random key; the file with it."""
        path = self._directory / f"{principal.replace('/', '_')}.keytab"
        self._run("kadmin.local", "-r", REALM, "-q", f"addprinc -randkey {principal}@{REALM}")
        self._run("kadmin.local", "-r", REALM, "-q", f"ktadd -k {path} {principal}@{REALM}")
        return path

    def stop(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def _run(self, *command: str) -> None:
        subprocess.run(command, env=self._all, check=True, capture_output=True, stdin=subprocess.DEVNULL)
