"""The operator's account whose channels the tests of this folder use."""

from typing import Final

import pytest

from farebox.kernel.addresses import account_address
from farebox.stellar.signers import SigningAccount, parse_secret_seed

SEED: Final = "SCRLORXQ7J7KHCZSNXNAKVM6DWJQPZIGIGVE6EH2JVGEYUVS6NWTPR53"


@pytest.fixture
def relayer() -> SigningAccount:
    key = parse_secret_seed(SEED)
    assert key is not None
    return SigningAccount(account_address(bytes(key.reveal().verify_key)), key)
