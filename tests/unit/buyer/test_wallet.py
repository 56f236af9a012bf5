import json
import os
import stat
from pathlib import Path

import pytest
from stellar_sdk import Keypair

from farebox.buyer.wallet import WalletRefused, create_wallet, default_path, open_wallet, wallet_of
from farebox.kernel.secret import Secret


def test_a_new_wallet_is_read_back_by_its_owner_alone(tmp_path: Path) -> None:
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


def test_the_key_is_in_no_text_form(tmp_path: Path) -> None:
    wallet = create_wallet(tmp_path / "wallet.json")
    assert wallet.seed.reveal() not in f"{wallet} {wallet!r}"


def test_an_existing_file_is_never_touched(tmp_path: Path) -> None:
    path = tmp_path / "wallet.json"
    create_wallet(path)
    before = path.read_bytes()
    with pytest.raises(WalletRefused, match="name another file with --wallet"):
        create_wallet(path)
    assert path.read_bytes() == before


def test_a_wallet_others_can_read_is_refused_with_the_remedy(tmp_path: Path) -> None:
    path = tmp_path / "wallet.json"
    create_wallet(path)
    path.chmod(0o640)
    with pytest.raises(WalletRefused, match=f"chmod 600 {path}"):
        open_wallet(path)


def test_no_wallet_says_how_to_make_one(tmp_path: Path) -> None:
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
def test_a_file_that_is_no_wallet_is_refused_without_showing_it(
    tmp_path: Path, content: str
) -> None:
    path = tmp_path / "wallet.json"
    path.write_text(content)
    path.chmod(0o600)
    with pytest.raises(WalletRefused, match="is not a wallet") as refusal:
        open_wallet(path)
    assert KEY.secret not in str(refusal.value)


def test_a_key_under_a_foreign_address_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "wallet.json"
    path.write_text(json.dumps({"address": Keypair.random().public_key, "secret": KEY.secret}))
    path.chmod(0o600)
    with pytest.raises(WalletRefused, match="names another address"):
        open_wallet(path)


def test_only_a_secret_seed_makes_a_wallet() -> None:
    with pytest.raises(WalletRefused, match="not a Stellar secret key"):
        wallet_of(Secret(KEY.public_key))


def test_the_usual_place_follows_the_configuration_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", "/etc/of-mine")
    assert default_path() == Path("/etc/of-mine/farebox/wallet.json")
    monkeypatch.delenv("XDG_CONFIG_HOME")
    assert default_path() == Path.home() / ".config/farebox/wallet.json"
