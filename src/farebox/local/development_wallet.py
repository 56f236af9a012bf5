"""The development wallet: a script in the place of a browser wallet, for local networks alone."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from farebox.app.console import ASSETS, DEVELOPMENT_WALLET, INDEX
from farebox.buyer.wallet import Wallet
from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.local.faults import LocalFault

_SOURCE: Final = Path(__file__).with_suffix(".js")
_SCRIPT: Final = "<script"  # the first one of the page; the wallet is there before it


@dataclass(frozen=True, slots=True)
class WalletAccount:
    """An account of the wallet; a contract account has an address other than its signer's."""

    name: str
    signer: Wallet
    contract: Address | None = None


def wallet_script(accounts: Sequence[WalletAccount], network: Network, *, asks: bool = True) -> str:
    """Write the script of a wallet with these accounts, on this network.

    With `asks` it asks the person which account to show and whether to sign.
    """
    config = {
        "accounts": [
            {
                "name": each.name,
                "address": each.contract or each.signer.address,
                "signer": each.signer.address,
                "seed": each.signer.seed.reveal(),
            }
            for each in accounts
        ],
        "network": network.label.upper(),
        "passphrase": network.passphrase,
        "asks": asks,
    }
    return f"{_SOURCE.read_text().rstrip()}({json.dumps(config)});\n"


def add_development_wallet(build: Path, folder: Path, script: str) -> Path:
    """Copy a build of the console into `folder`, with the wallet as one more script of its page.

    Raises:
        LocalFault: the page of the build has no script, so that it is none of the console's.
    """
    copy = shutil.copytree(build, folder)
    page = copy / INDEX
    before, found, rest = page.read_text().partition(_SCRIPT)
    if not found:
        raise LocalFault(f"{build / INDEX} is not the page of the console.")
    own = f'<script src="/{ASSETS}/{DEVELOPMENT_WALLET}"></script>\n    '
    page.write_text(before + own + found + rest)
    (copy / ASSETS / DEVELOPMENT_WALLET).write_text(script)
    return copy
