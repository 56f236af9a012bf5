"""The wallet file: a secret seed that only its owner can read."""

import json
import os
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stellar_sdk import Keypair
from stellar_sdk.exceptions import SdkError

from farebox.kernel.addresses import Address, parse_account
from farebox.kernel.errors import CommandRefused
from farebox.kernel.secret import Secret

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


class WalletRefused(CommandRefused):
    """The wallet file cannot be used; the message says what to do."""

    def __init__(self, message: str) -> None:
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Wallet:
    """A payer: its address and the seed that signs for it."""

    address: Address
    seed: Secret[str]

    def keypair(self) -> Keypair:
        """Return the signing key, which must not be printed or stored."""
        return Keypair.from_secret(self.seed.reveal())


def default_path() -> Path:
    """The default path of the wallet file: `~/.config/farebox/wallet.json`."""
    configured = os.environ.get("XDG_CONFIG_HOME")
    folder = Path(configured) if configured else Path.home() / ".config"
    return folder / "farebox" / "wallet.json"


def wallet_of(seed: Secret[str]) -> Wallet:
    """Make the wallet of a secret seed (S…).

    Raises:
        WalletRefused: it is not a secret seed.
    """
    try:
        public = Keypair.from_secret(seed.reveal()).public_key
    except (SdkError, ValueError) as error:
        raise WalletRefused("This is not a Stellar secret key (S…).") from error
    return Wallet(Address(public), seed)


def create_wallet(path: Path) -> Wallet:
    """Store a new random key in a new file of mode 0600; an existing file is not changed.

    Raises:
        WalletRefused: the file exists or cannot be written.
    """
    wallet = wallet_of(Secret(Keypair.random().secret))
    text = json.dumps({"address": wallet.address, "secret": wallet.seed.reveal()}, indent=1)
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        if path.exists():
            raise WalletRefused(f"{path} exists already: name another file with --wallet.")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise WalletRefused(
            f"Cannot write {path} ({error.strerror}); name another file with --wallet."
        ) from error
    return wallet


def open_wallet(path: Path) -> Wallet:
    """Read a wallet file that no other user can read.

    Raises:
        WalletRefused: it is absent, open to others, or not a wallet.
    """
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            raw = file.read(4096)
    except FileNotFoundError as error:
        raise WalletRefused(
            f"There is no wallet in {path}: create one with `farebox wallet new`."
        ) from error
    except OSError as error:
        raise WalletRefused(f"Cannot read {path}: {error.strerror}.") from error
    if mode & _OTHERS:
        raise WalletRefused(f"Other users can read {path}: run `chmod 600 {path}` and try again.")
    return _read(raw, path)


def _read(raw: bytes, path: Path) -> Wallet:
    try:
        body = json.loads(raw)
        address, seed = parse_account(body["address"]), Secret(str(body["secret"]))
        wallet = wallet_of(seed)
    except (ValueError, KeyError, TypeError, AttributeError, WalletRefused) as error:
        raise WalletRefused(f"{path} is not a wallet made by `farebox wallet new`.") from error
    if wallet.address != address:
        raise WalletRefused(f"The address in {path} does not match its key.")
    return wallet
