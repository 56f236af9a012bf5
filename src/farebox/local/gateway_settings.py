"""The settings of a service on this machine that runs a gateway in front of a local upstream."""

import hashlib

from farebox.local.certificates import Authority
from farebox.vault.master_keys import new_master_key


def gateway_settings(authority: Authority, name: str, port: int) -> dict[str, str]:
    """Return a new master key, and the way to the upstream `name` on the loopback's `port`."""
    return {
        "FAREBOX_MASTER_KEYS": new_master_key(None).reveal(),
        "FAREBOX_OUTBOUND_TEST_AUTHORITY": str(authority.file),
        "FAREBOX_OUTBOUND_TEST_RESOLVER": f"{name}=127.0.0.1:{port}",
    }


def operator_setting(key: str) -> dict[str, str]:
    """Return the setting by which the service knows an operator's key."""
    return {"FAREBOX_OPERATOR_KEYS": f"sha256:{hashlib.sha256(key.encode()).hexdigest()}"}
