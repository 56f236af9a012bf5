"""The operator's account whose channels the tests of this folder use."""

from typing import Final

import pytest

from farebox.kernel.addresses import account_address
from farebox.stellar.signers import Relayer, parse_secret_seed

SEED: Final = "SCRLORXQ7J7KHCZSNXNAKVM6DWJQPZIGIGVE6EH2JVGEYUVS6NWTPR53"


@pytest.fixture
def relayer() -> Relayer:
    key = parse_secret_seed(SEED)
    assert key is not None
    return Relayer(account_address(bytes(key.reveal().verify_key)), key)
