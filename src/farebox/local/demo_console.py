"""The console of the demo, with a development wallet that holds the keys of buyer and seller."""

from pathlib import Path

from farebox.app.console import PACKAGED, read_console
from farebox.buyer.wallet import Wallet
from farebox.local.demo_network import DemoNetwork
from farebox.local.development_wallet import (
    WalletAccount,
    add_development_wallet,
    wallet_script,
)


def console_setting(buyer: Wallet, network: DemoNetwork, folder: Path) -> dict[str, str]:
    """Return the setting for a console with the wallet, in a subfolder; none without a build."""
    if not read_console(None).files:
        return {}
    accounts = (WalletAccount("Buyer", buyer), WalletAccount("Seller", network.seller))
    script = wallet_script(accounts, network.network)
    return {
        "FAREBOX_CONSOLE_DIR": str(add_development_wallet(PACKAGED, folder / "console", script))
    }
