"""Which refusals prove that a transaction was not submitted."""

import pytest

from farebox.stellar.send_refusals import rpc_error_proves_unsent


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (-32600, "invalid request ID"),
        (-32601, "method not found"),
        (-32602, "invalid_xdr"),
        (-32700, "invalid request value"),
        (-32603, "invalid status from stellar-core"),
        (-32098, "rpc queue for sendTransaction surpassed queue limit of 500 requests"),
        (-32603, "rpc queue for sendTransaction surpassed queue limit of 500 requests"),
    ],
)
def test_a_refusal_before_stellar_core_proves_that_nothing_was_sent(
    code: int, message: str
) -> None:
    assert rpc_error_proves_unsent(code, message)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (-32603, "could not submit transaction to stellar-core"),
        (-32603, "received exception from stellar-core"),
        (-32603, "could not decode diagnostic events"),
        (-32603, ""),
        (-32001, "request exceeded processing limit threshold"),
        (-32003, "panic"),
        (-32000, "invalid status from stellar-core"),
        (0, "the rpc queue for sendTransaction surpassed queue limit of 500 requests"),
    ],
)
def test_any_other_error_leaves_it_unknown(code: int, message: str) -> None:
    assert not rpc_error_proves_unsent(code, message)
