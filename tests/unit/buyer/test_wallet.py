import json
import os
import stat
from pathlib import Path

import pytest
from stellar_sdk import Keypair

from farebox.buyer.wallet import WalletRefused, create_wallet, default_path, open_wallet, wallet_of
from farebox.kernel.secret import Secret


def test_new_wallet_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "wallet.json"
    before = os.umask(0)
    try:
        made = create_wallet(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    read = open_wallet(path)
    assert read.address == made.address
    assert read.keypair().public_key == made.address


def test_repr_of_a_wallet_hides_its_key(tmp_path: Path) -> None:
    wallet = create_wallet(tmp_path / "wallet.json")
    assert wallet.seed.reveal() not in f"{wallet} {wallet!r}"


def test_create_wallet_never_overwrites_a_file(tmp_path: Path) -> None:
    path = tmp_path / "wallet.json"
    create_wallet(path)
    before = path.read_bytes()
    with pytest.raises(WalletRefused, match="name another file with --wallet"):
        create_wallet(path)
    assert path.read_bytes() == before


def test_wallet_that_others_can_read_is_refused_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "wallet.json"
    create_wallet(path)
    path.chmod(0o640)
    with pytest.raises(WalletRefused, match=f"chmod 600 {path}"):
        open_wallet(path)


def test_missing_wallet_names_the_command_that_makes_one(tmp_path: Path) -> None:
    with pytest.raises(WalletRefused, match="farebox wallet new"):
        open_wallet(tmp_path / "absent")
    with pytest.raises(WalletRefused, match="Cannot read"):
        open_wallet(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(WalletRefused, match="Cannot write"):
        create_wallet(tmp_path / "file" / "wallet.json")


KEY = Keypair.random()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "{}",
        json.dumps({"address": KEY.public_key, "secret": "S"}),
        json.dumps({"address": 5, "secret": KEY.secret}),
        json.dumps({"address": KEY.public_key}),
    ],
    ids=["empty", "list", "nothing", "no seed", "no address", "address alone"],
)
def test_malformed_wallet_is_refused_without_showing_it(tmp_path: Path, content: str) -> None:
    path = tmp_path / "wallet.json"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(WalletRefused, match="is not a wallet") as refusal:
        open_wallet(path)
    assert KEY.secret not in str(refusal.value)


def test_wallet_is_refused_when_its_address_does_not_match_its_key(tmp_path: Path) -> None:
    path = tmp_path / "wallet.json"
    path.write_text(json.dumps({"address": Keypair.random().public_key, "secret": KEY.secret}))
    path.chmod(0o600)
    with pytest.raises(WalletRefused, match="does not match its key"):
        open_wallet(path)


def test_wallet_of_refuses_anything_but_a_secret_seed() -> None:
    with pytest.raises(WalletRefused, match="not a Stellar secret key"):
        wallet_of(Secret(KEY.public_key))


def test_default_path_follows_the_configuration_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/etc/of-mine")
    assert default_path() == Path("/etc/of-mine/farebox/wallet.json")
    monkeypatch.delenv("XDG_CONFIG_HOME")
    assert default_path() == Path.home() / ".config/farebox/wallet.json"
