"""The request for each error of each action of each skill."""

from typing import Final

from stellar_sdk import Keypair

from farebox.kernel.addresses import contract_address
from farebox.x402.headers import encode_header
from support.skill_calls import ErrorKey
from support.skill_failures import (
    FUTURENET,
    MUXED,
    NO_WRAPPER,
    NOWHERE,
    PRIVATE,
    Failure,
    calling_silence,
    changing,
    completing,
    contract_without_web_auth,
    creating,
    enabling_a_private_upstream,
    expired,
    foreign_cursor,
    foreign_signature,
    network_without_node,
    odd_idempotency_key,
    on_network,
    operators_account,
    other_accepted,
    other_recipient,
    paying,
    preparing,
    reused_idempotency_key,
    selling,
    sending,
    settled_before,
    signed_elsewhere,
    signing_in,
    silent_resource,
    taken_slug,
    undescribed_resource,
    unknown_account,
    unread,
    used_challenge,
    weakly,
    with_terms,
    without,
    without_node,
)
from support.skill_performances import RESOURCE, both
from support.skill_plan_failures import PLAN_FAILURES

PAYER: Final = Keypair.random().public_key
NOBODY: Final = "https://nobody.example.com/"
_CALLS: Final[dict[str, Failure]] = {
    "HTTPS_REQUIRED": sending({"url": "http://nobody.example.com/"}),
    "INVALID_ARGUMENTS": sending({"url": NOBODY, "colour": "red"}),
    "RESOURCE_NOT_CATALOGED": sending({"url": NOBODY}),
}
_PREPARE: Final[dict[str, Failure]] = {
    "invalid_address": preparing("x"),
    "invalid_exact_stellar_fees_sponsored_unsupported": preparing(extra={}),
    "invalid_network": preparing(network=FUTURENET),
    "invalid_payment_requirements": preparing(amount="1.5"),
    "muxed_account_unsupported": preparing(MUXED),
    "unsupported_scheme": preparing(scheme="upto"),
}
_SETTLE: Final[dict[str, Failure]] = {
    "accepted_mismatch": paying(other_accepted),
    "duplicate_settlement": settled_before,
    "insufficient_funds": paying(lambda _, draft: both(draft.request()), amount=10**18),
    "invalid_exact_stellar_payload_invalid_signature": paying(signed_elsewhere),
    "invalid_exact_stellar_payload_wrong_amount": with_terms(amount="2"),
    "invalid_exact_stellar_payload_wrong_recipient": paying(other_recipient),
    "invalid_exact_stellar_signature_expired": expired,
    "invalid_json": sending(b"{"),
    "invalid_network": with_terms(network=FUTURENET),
    "invalid_payload": paying(unread),
    "invalid_payment_requirements": with_terms(amount="1.5"),
    "network_unavailable": without_node,
    "unsupported_scheme": with_terms(scheme="upto"),
}
_KEYS: Final[dict[str, Failure]] = {
    "idempotency_key_reused": reused_idempotency_key,
    "invalid_idempotency_key": odd_idempotency_key,
}
_ACCOUNT: Final[dict[str, Failure]] = {
    "account_not_found": unknown_account,
    "invalid_address": on_network(address="x"),
    "muxed_account_unsupported": on_network(address=MUXED),
    "unsupported_network": sending({"network": FUTURENET, "address": PAYER}),
}
_ASSETS: Final[dict[str, Failure]] = {
    "invalid_asset": on_network(address=PAYER, asset=["USD"]),
    "too_many_parameters": on_network(address=PAYER, asset=["native"] * 11),
}
_CONTRACT: Final[dict[str, Failure]] = {
    "contract_not_found": on_network(contract=contract_address(bytes(32))),
    "invalid_address": on_network(contract=PAYER),
    "unsupported_network": sending({"network": FUTURENET, "contract": contract_address(bytes(32))}),
}
_NO_PAYMENT: Final[dict[str, Failure]] = {"not_found": sending({"transaction": NOWHERE})}
_OWNED: Final[dict[str, Failure]] = {
    "not_found": selling(NO_WRAPPER),
    "scope_missing": weakly(NO_WRAPPER),
    "unauthenticated": sending(NO_WRAPPER),
}
_FAILURES: Final[dict[tuple[str, str], dict[str, Failure]]] = {
    ("account-status", "balances"): _ACCOUNT | _ASSETS,
    ("account-status", "reserves"): _ACCOUNT,
    ("account-status", "signers"): _ACCOUNT,
    ("account-status", "trustlines"): _ACCOUNT | _ASSETS,
    ("contract-inspect", "spec"): _CONTRACT,
    ("contract-inspect", "wasm_hash"): _CONTRACT,
    **{
        ("network-status", name): {"rpc_unavailable": network_without_node}
        for name in ("fees", "ledger", "protocol")
    },
    ("receipt-verify", "verify"): _NO_PAYMENT,
    ("transaction-track", "payment_status"): _NO_PAYMENT,
    ("transaction-track", "settlement_status"): _NO_PAYMENT,
    **{
        (slug, "complete"): {
            "invalid_entry": completing(slug, entry="AAAA"),
            "invalid_exact_stellar_payload_invalid_signature": completing(slug, Keypair.random()),
            "invalid_exact_stellar_payload_wrong_amount": completing(slug, amount="2"),
            "invalid_signature": completing(slug, signature="zz"),
        }
        for slug in ("token-transfer", "x402-pay")
    },
    ("token-transfer", "prepare"): _PREPARE,
    ("token-transfer", "settle"): _SETTLE | _KEYS,
    ("x402-facilitate", "settle"): _SETTLE | _KEYS,
    ("x402-facilitate", "verify"): _SETTLE,
    ("wallet-auth", "challenge"): {
        "account_not_allowed": operators_account,
        "contract_login_unavailable": contract_without_web_auth,
        "invalid_address": signing_in(address="x"),
        "invalid_request": sending({}),
        "muxed_account_unsupported": signing_in(address=MUXED),
        "unknown_home_domain": signing_in(homeDomain="other.example.com"),
        "unsupported_network": signing_in(network=FUTURENET),
    },
    ("wallet-auth", "verify"): {
        "challenge_not_open": used_challenge,
        "invalid_challenge": on_network(transactionXdr="AAAA"),
        "invalid_request": on_network(),
        "signature_refused": foreign_signature,
    },
    ("x402-discover", "browse"): {
        "invalid_limit": sending({"limit": 0}),
        "invalid_offset": sending({"offset": -1}),
    },
    ("x402-discover", "describe"): {
        "bazaar_missing": undescribed_resource,
        "invalid_validation_request": sending({}),
        "origin_no_answer": silent_resource,
        "origin_no_payment_asked": without("200 OK", {"url": RESOURCE}),
        "origin_not_called": sending({"url": PRIVATE}),
    },
    ("x402-discover", "search"): {
        "QUERY_REQUIRED": sending({}),
        "cursor_mismatch": foreign_cursor,
        "invalid_cursor": sending({"query": "weather", "cursor": "nonsense"}),
        "invalid_limit": sending({"query": "weather", "limit": 0}),
        "query_too_long": sending({"query": "x" * 2_001}),
    },
    ("x402-pay", "paid_call"): {
        **_CALLS,
        "INVALID_PAYMENT_SIGNATURE": sending({"url": NOBODY, "paymentSignature": "%%%"}),
        "PAID_CALL_FAILED": calling_silence(paymentSignature=encode_header({"x402Version": 2})),
    },
    ("x402-pay", "prepare"): _PREPARE,
    ("x402-pay", "quote"): {**_CALLS, "PAID_CALL_FAILED": calling_silence()},
    ("x402-sell", "analytics"): {
        **_OWNED,
        "invalid_filter": changing(days=0),
        "invalid_limit": changing(limit=0),
    },
    ("x402-sell", "check"): _OWNED,
    ("x402-sell", "create"): {
        "invalid_request": creating(name=5),
        "invalid_wrapper": creating(upstreamUrl=PRIVATE),
        "scope_missing": weakly({"name": "x"}),
        "slug_taken": taken_slug,
        "unauthenticated": sending({"name": "x"}),
    },
    ("x402-sell", "delete"): _OWNED,
    ("x402-sell", "disable"): _OWNED,
    ("x402-sell", "enable"): {**_OWNED, "invalid_wrapper": enabling_a_private_upstream},
    ("x402-sell", "update"): {
        **_OWNED,
        "invalid_request": changing(name=5),
        "invalid_wrapper": changing(upstreamUrl=PRIVATE),
    },
}
FAILURES: Final[dict[ErrorKey, Failure]] = PLAN_FAILURES | {
    (*key, code): failure
    for key, failures in _FAILURES.items()
    for code, failure in failures.items()
}
