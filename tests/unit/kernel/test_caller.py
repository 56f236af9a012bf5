import hashlib
from dataclasses import replace

from farebox.kernel.caller import Caller, CallerKind, OwnerId, operator_id, user_id
from farebox.kernel.ids import is_id, new_id
from farebox.kernel.networks import Network
from farebox.kernel.slots import Share


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


def test_share_of_a_caller_is_its_key_or_owner_once_it_is_established_else_new() -> None:
    """The keys of an operator are for as many customers."""
    owner, operator = OwnerId("user_1"), operator_id(b"digest")
    known = Caller(owner, CallerKind.KEY, key_id="key_1", is_established=True)
    assert known.share == Share("user_1")
    assert replace(known, owner=operator).share == Share("key_1")
    new = replace(known, is_established=False)
    assert new.share == Share("user_1", is_new=True)
    assert replace(new, site="192.0.2.1").share == Share("192.0.2.1", is_new=True)
