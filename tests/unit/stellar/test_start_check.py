"""The trial transfer of the start check, as the SDK reads it."""

from stellar_sdk import Asset, Keypair, TransactionEnvelope, scval, xdr
from stellar_sdk.operation import InvokeHostFunction

from farebox.kernel.addresses import Address
from farebox.kernel.networks import Network
from farebox.stellar.start_check import trial_transfer


def test_trial_transfer_sends_one_stroop_to_its_own_account() -> None:
    account = Keypair.random().public_key
    text = trial_transfer(Network.PUBNET, Address(account))
    read = TransactionEnvelope.from_xdr(text, Network.PUBNET.passphrase).transaction
    assert read.source.account_id == account
    operation = read.operations[0]
    assert isinstance(operation, InvokeHostFunction)
    call = operation.host_function.invoke_contract
    assert call is not None
    contract = Asset.native().contract_id(Network.PUBNET.passphrase)
    assert scval.from_address(_value(call.contract_address)).address == contract
    assert call.function_name.sc_symbol == b"transfer"
    assert [scval.from_address(each).address for each in call.args[:2]] == [account, account]
    assert scval.from_int128(call.args[2]) == 1
    (entry,) = operation.auth
    assert entry.root_invocation.function.contract_fn == call
    assert entry.credentials.type.name == "SOROBAN_CREDENTIALS_SOURCE_ACCOUNT"
    assert text == TransactionEnvelope(read, Network.PUBNET.passphrase).to_xdr()


def _value(address: xdr.SCAddress) -> xdr.SCVal:
    return xdr.SCVal(xdr.SCValType.SCV_ADDRESS, address=address)
