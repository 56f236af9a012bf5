"""The code of the contracts that sessions and mandates are made of, as `contracts/` builds it."""

import hashlib
from enum import StrEnum
from functools import cache
from importlib.resources import files


class ServiceContract(StrEnum):
    """A contract of the service, by the name of its code."""

    GUARD = "session_guard"
    VERIFIER = "ed25519_verifier"
    INSTALLER = "session_installer"
    FACTORY = "mandate_factory"
    MANDATE = "mandate"

    @property
    def setting(self) -> str:
        """The operator's setting that names it, without prefix and network."""
        return "SESSION_VERIFIER" if self is ServiceContract.VERIFIER else self.upper()


@cache
def read_code(contract: ServiceContract) -> bytes:
    """The wasm of a contract."""
    return (files("farebox.automation.sessions") / "wasm" / f"{contract}.wasm").read_bytes()


@cache
def pinned_hash(contract: ServiceContract) -> bytes:
    """The hash (32 bytes) of the one code that is accepted for a contract."""
    return hashlib.sha256(read_code(contract)).digest()
