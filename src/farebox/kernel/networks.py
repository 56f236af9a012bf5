"""The two Stellar networks Farebox settles on. There is no default network."""

import hashlib
from enum import StrEnum


class Network(StrEnum):
    """A network by its CAIP-2 id, spelled the same on every surface."""

    TESTNET = "stellar:testnet"
    PUBNET = "stellar:pubnet"

    @property
    def passphrase(self) -> str:
        """The passphrase whose hash goes into every signature of this network."""
        return _PASSPHRASES[self]

    @property
    def id(self) -> bytes:
        """SHA-256 of the passphrase, 32 bytes."""
        return _IDS[self]

    @property
    def label(self) -> str:
        """`testnet` or `pubnet`, as setting names and file names use it."""
        return self.value.partition(":")[2]


_PASSPHRASES = {
    Network.TESTNET: "Test SDF Network ; September 2015",
    Network.PUBNET: "Public Global Stellar Network ; September 2015",
}
_IDS = {network: hashlib.sha256(text.encode()).digest() for network, text in _PASSPHRASES.items()}


def parse_network(text: str) -> Network | None:
    """Read a CAIP-2 id; None when it names no network we know."""
    return _BY_ID.get(text)


_BY_ID = {network.value: network for network in Network}
