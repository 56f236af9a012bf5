"""The JSON of `/v1/payments/prepare` and `/v1/payments/complete`."""

import base64
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET, Meta, UnsetType

from farebox.facilitator.payment_http import PayerText, RequirementsBody
from farebox.kernel.addresses import Address, is_account, parse_account, parse_party
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import ErrorMember, Refusal
from farebox.kernel.networks import Network
from farebox.kernel.pages import Moment
from farebox.kernel.secret import Secret
from farebox.signing.authorization import UnsignedAuthorization
from farebox.signing.complete import SignedAuthorization
from farebox.signing.signature import read_key_signature, read_signature_value
from farebox.stellar.auth_entries import PAYING_KINDS, AuthEntry, Unsigned, read_entry
from farebox.stellar.xdr_reader import Malformed, decode_base64
from farebox.x402.payload import build_payload
from farebox.x402.payment import Payment
from farebox.x402.reasons import Reason

MAX_ENTRY_BYTES: Final = 4_096  # an entry without its signature takes some 300
_MUXED: Final = ("M", "W")
_OBJECT: Final = b"{"
_NULL: Final = b"null"
_EXTENSIONS: Final = msgspec.json.Decoder(dict[str, msgspec.Raw])

_SIGNER: Final = "The G… address of the signer, where it is not the payer's own key."

EntryText = Annotated[str, Meta(description="A SorobanAuthorizationEntry, base64 XDR.")]
HashText = Annotated[str, Meta(extra_json_schema={"pattern": "^[0-9a-f]{64}$"})]
JsonObject = Annotated[dict[str, Any], Meta(description="As in the seller's 402.")]


class PrepareRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One payment option of a 402 (a member of its `accepts`), and the account that will pay."""

    requirements: RequirementsBody
    payer: PayerText


class PreparedBody(msgspec.Struct, frozen=True, rename="camel"):
    """An unsigned authorization; `hash` (SHA-256 of `preimage`) is what the payer signs."""

    entry: EntryText
    hash: HashText
    preimage: Annotated[str, Meta(description="A HashIDPreimage, base64 XDR.")]
    expiration_ledger: int
    expires_at: Moment
    network: Network
    payer: PayerText
    statements: tuple[str, ...]


class CompleteRequest(
    msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True
):
    """The prepared entry, its signature, and the payment option that it was prepared for."""

    entry: EntryText
    signature: Annotated[
        str,
        Meta(
            description="Of a G… payer 64 bytes, base64 or hex. Of a C… payer the SCVal that its "
            "__check_auth takes, base64 XDR."
        ),
    ]
    public_key: Annotated[str, Meta(description=_SIGNER)] | UnsetType = UNSET
    requirements: RequirementsBody
    resource: JsonObject | UnsetType = UNSET
    extensions: JsonObject | UnsetType = UNSET


class CompletedBody(msgspec.Struct, frozen=True, rename="camel"):
    """A payment; `paymentSignature` is the value of the header PAYMENT-SIGNATURE."""

    payment_signature: str
    payment_payload: Annotated[msgspec.Raw, Meta(extra_json_schema={"type": "object"})]


class RefusedDetail(msgspec.Struct, frozen=True, rename="camel"):
    """`code` is a reason of `/v1/errors`; `details` names the member to change, where one is."""

    code: Reason
    message: str
    request_id: str
    details: ErrorMember | UnsetType = UNSET


class RefusedPaymentBody(msgspec.Struct, frozen=True):
    """The facilitator would refuse the payment."""

    error: RefusedDetail


class PrepareInput(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The members of `PrepareRequest` before they are judged one by one."""

    requirements: msgspec.Raw
    payer: str


class CompleteInput(
    msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True
):
    """The members of `CompleteRequest` before they are judged one by one."""

    entry: str
    signature: str
    public_key: str | None = None
    requirements: msgspec.Raw
    resource: msgspec.Raw = msgspec.Raw()
    extensions: msgspec.Raw = msgspec.Raw()


class BadPayer(Refusal):
    """The payer is not a plain account or contract."""


class BadEntry(Refusal):
    """The entry is not one that can be completed."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.INVALID_ENTRY, field="entry")


class BadSignature(Refusal):
    """The signature, or the key it is of, does not have the form that the payer needs."""

    def __init__(self, member: str, needed: str) -> None:
        words = f"Look at {member}. {needed}"
        super().__init__(ErrorCode.INVALID_SIGNATURE, words, field=member)


def read_payer(text: str) -> Address:
    """Read the account that will pay.

    Raises:
        BadPayer: `invalid_address`, or `muxed_account_unsupported`.
    """
    payer = parse_party(text)
    if payer is not None:
        return payer
    if text.startswith(_MUXED):
        words = "Look at payer. A muxed address cannot pay: name its G… or C… address."
        raise BadPayer(ErrorCode.MUXED_ACCOUNT_UNSUPPORTED, words, field="payer")
    words = "Look at payer. It is the G… address of an account or the C… address of a contract."
    raise BadPayer(ErrorCode.INVALID_ADDRESS, words, field="payer")


def read_authorization(request: CompleteInput) -> SignedAuthorization:
    """Read the entry and the signature that goes into it.

    Raises:
        BadEntry: it is not one unsigned entry of a plain address for a contract call.
        BadSignature: the signature is not in the form that the entry's address needs.
    """
    entry, payer = _read_unsigned_entry(request.entry)
    if not is_account(payer):
        if request.public_key is not None:
            raise BadSignature("publicKey", "Only the signature of a G… payer is of a key.")
        value = read_signature_value(request.signature)
        needed = "Of a C… payer it is the SCVal that the account's __check_auth takes, base64 XDR."
    else:
        value = read_key_signature(request.signature, _read_signer(request.public_key, payer))
        needed = "Of a G… payer it is 64 bytes, base64 or hex."
    if value is None:
        raise BadSignature("signature", needed)
    return SignedAuthorization(entry, value)


def _read_unsigned_entry(text: str) -> tuple[AuthEntry, Address]:
    try:
        entry = read_entry(decode_base64(text, max_bytes=MAX_ENTRY_BYTES))
    except Malformed:
        raise BadEntry from None
    is_completed = entry.kind not in PAYING_KINDS or not isinstance(entry.signature, Unsigned)
    if is_completed or entry.address is None or not entry.is_contract_call:
        raise BadEntry
    return entry, entry.address


def _read_signer(text: str | None, payer: Address) -> Address:
    signer = payer if text is None else parse_account(text)
    if signer is None:
        raise BadSignature("publicKey", "It is the G… address of the signer.")
    return signer


def has_objects(request: CompleteInput) -> bool:
    """Whether `resource` and `extensions` are JSON objects where they are given."""
    resource = _given(request.resource)
    try:
        _read_extensions(request.extensions)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return False
    return resource is None or bytes(resource).startswith(_OBJECT)


def prepared_body(authorization: UnsignedAuthorization) -> PreparedBody:
    """Render an authorization that waits for its signature."""
    return PreparedBody(
        entry=base64.b64encode(authorization.entry).decode(),
        hash=authorization.digest.hex(),
        preimage=base64.b64encode(authorization.preimage).decode(),
        expiration_ledger=authorization.expires_at_ledger,
        expires_at=authorization.expires_at,
        network=authorization.terms.network,
        payer=authorization.payer,
        statements=authorization.statements,
    )


def completed_body(payment: Payment, request: CompleteInput) -> CompletedBody:
    """Render a payment with the requirements, resource and extensions as they came.

    A payment identifier is added: each call draws another one.
    """
    envelope = base64.b64encode(payment.transaction.reveal()).decode()
    payload = msgspec.json.encode(
        build_payload(
            request.requirements,
            Secret(envelope),
            resource=_given(request.resource),
            extensions=_read_extensions(request.extensions),
        )
    )
    return CompletedBody(base64.b64encode(payload).decode(), msgspec.Raw(payload))


def _given(member: msgspec.Raw) -> msgspec.Raw | None:
    return None if bytes(member) in (b"", _NULL) else member


def _read_extensions(member: msgspec.Raw) -> dict[str, msgspec.Raw] | None:
    given = _given(member)
    return None if given is None else _EXTENSIONS.decode(given)
