import hashlib

from farebox.kernel.caller import operator_id, user_id
from farebox.kernel.ids import is_id, new_id
from farebox.kernel.networks import Network


def test_user_id_is_stable_and_differs_per_network_and_address() -> None:
    address = "GBRPYHIL2CI3FNQ4BXLFMNDLFJUNPU2HY3ZMFSHONUCEOASW7QC7OX2H"
    # written down: a release that derives it otherwise would lose every user's records
    assert user_id(Network.TESTNET, address) == "user_4fea4ab1e340a753dbb5e0ee6f52c232"
    assert user_id(Network.PUBNET, address) != user_id(Network.TESTNET, address)
    assert user_id(Network.TESTNET, address[::-1]) != user_id(Network.TESTNET, address)


def test_operator_id_is_derived_from_the_digest_without_showing_it() -> None:
    digest = hashlib.sha256(b"key").digest()
    assert operator_id(digest) == operator_id(bytes(digest))
    assert operator_id(digest) == "operator_03eaa2ccfa436508d3d0af391d716325"
    assert operator_id(digest)[9:] not in digest.hex()


def test_new_id_is_unique_and_has_its_prefix() -> None:
    names = {new_id("key") for _ in range(1000)}
    assert len(names) == 1000
    assert all(is_id("key", name) for name in names)
    assert not any(is_id("sec", name) for name in names)
