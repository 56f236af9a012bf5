"""Environments to read settings from: one network complete, and what can be added to it."""

from typing import Final

import pytest
from stellar_sdk import Keypair

from farebox.app.configuration import SettingsRefused, read_settings
from farebox.app.settings import Settings

RELAYER: Final = Keypair.random().secret
PAYMASTER: Final = Keypair.random().secret
TOKEN: Final = "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA"
TESTNET: Final = {
    "FAREBOX_RPC_URL_TESTNET": "https://rpc.test/?key=hidden-in-the-url",
    "FAREBOX_RELAYER_SECRET_TESTNET": RELAYER,
}
PUBNET: Final = {name.replace("TESTNET", "PUBNET"): value for name, value in TESTNET.items()}
KEYS: Final = {"FAREBOX_OPERATOR_KEYS": "sha256:" + "ab" * 32}


def read_changed(**changes: str) -> Settings:
    """Read the settings of one network with these changes."""
    return read_settings(TESTNET | changes)


def setting_faults(environment: dict[str, str]) -> dict[str, str]:
    """The requirement of each setting for which the environment is refused."""
    with pytest.raises(SettingsRefused) as caught:
        read_settings(environment)
    return {fault.name: fault.requirement for fault in caught.value.faults}
