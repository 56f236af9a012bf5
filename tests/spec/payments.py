"""Promises about payments: what is sent, what is judged, what is answered."""

from typing import Final

from spec.promise import section_promises

PAYMENTS: Final = (
    *section_promises(
        "What the service does",
        {
            "facilitator:three-routes": "Supported, verify and settle are offered.",
            "facilitator:exact-on-both-networks": (
                "Version 2 payments of the scheme exact settle on testnet and on pubnet."
            ),
            "facilitator:callers-need-no-network": (
                "One request settles: the caller builds, simulates and submits nothing."
            ),
            "facilitator:operator-pays-the-fee": (
                "The operator's account pays the network fee; the buyer's native coin is untouched."
            ),
            "facilitator:non-custodial": (
                "The token goes from buyer to payee; no operator account ever holds any of it."
            ),
        },
    ),
    *section_promises(
        "Behavioural guarantees",
        {
            "settle:timeout-is-indeterminate": (
                "A confirmation that does not come leaves the outcome unknown, never failed."
            ),
            "settle:metadata-changes-no-outcome": (
                "Invalid discovery metadata leaves the settlement exactly as it would have been."
            ),
            "upto:not-advertised": "The metered scheme upto is advertised nowhere.",
            "upto:captures-at-most-what-was-authorized": (
                "Under upto the amount captured lies between zero and the authorized maximum."
            ),
            "fees:operator-fee-is-no-constant": (
                "No operator fee is built in; this version refuses a setting that asks for one."
            ),
        },
    ),
    *section_promises(
        "Payment payload",
        {
            "payload:version-is-2": "A payload of any version but the integer 2 is refused.",
            "payload:scheme-is-exact": "A payload of any scheme but exact is refused.",
            "payload:network-is-known": "A payload for any other network is refused.",
            "payload:entries-verbatim": "The buyer's signed entries reach the ledger unchanged.",
            "payload:only-entries-are-signed": (
                "The buyer signs authorization entries; an unsigned envelope around them is enough."
            ),
        },
    ),
    *section_promises(
        "Payment requirements",
        {
            "terms:network-is-named": "The network is named by each payment and never inferred.",
            "terms:asset-is-a-contract": "The asset is a token contract's id and nothing else.",
            "terms:amount-is-an-integer-string": "The amount is a string of whole base units.",
            "terms:amount-is-exact": "Amounts keep every digit up to what a token can carry.",
            "terms:no-floating-point": "An amount given as a JSON number is refused.",
            "terms:pay-to-is-an-account": "The recipient is one valid, plain address.",
            "terms:timeout-bounds-expiry": (
                "maxTimeoutSeconds becomes the latest ledger a signature may expire at, "
                "by the cadence observed now."
            ),
            "terms:fees-are-sponsored": "Terms whose fees are not sponsored are refused.",
            "wire:one-wrapper-for-both": (
                "Verify and settle take the same wrapper with the same field names."
            ),
        },
    ),
    *section_promises(
        "Verify response",
        {
            "verify:says-is-valid": "The verdict is a boolean named isValid.",
            "verify:reason-whenever-invalid": (
                "A payment that is not valid comes with a machine-readable reason, never null."
            ),
        },
    ),
    *section_promises(
        "Settle response",
        {
            "settle:says-success": "The outcome is a boolean named success, false on failure.",
            "settle:reason-whenever-failed": (
                "A settlement that did not succeed comes with a reason, never null."
            ),
            "settle:hash-and-network": "A success names the transaction's hash and its network.",
        },
    ),
    *section_promises(
        "Supported response",
        {
            "supported:kinds": "Version 2 exact is listed for both networks.",
            "supported:extensions": "Extension keys are listed, and none that is not processed.",
            "supported:signers": "The operator accounts that sign are listed by public key.",
            "supported:fees-are-sponsored": "Each kind says that fees are sponsored.",
        },
    ),
    *section_promises(
        "Endpoints: facilitator",
        {
            "verify:checks-authorization": "Verify checks the structure of the authorization.",
            "verify:checks-expiry": "Verify checks the ledger at which the signature expires.",
            "verify:checks-contract": "Verify checks the token contract called.",
            "verify:checks-amount": "Verify checks the amount, exactly.",
            "verify:checks-recipient": "Verify checks the recipient.",
            "verify:checks-transfer-event": "Verify checks the transfer event simulated.",
            "verify:checks-signature": "Verify checks that the payer has signed.",
            "verify:moves-nothing": "Verify moves no funds and writes nothing.",
            "settle:verifies-again": "Settle judges the payment anew, simulation included.",
            "settle:holds-the-ceiling": "Settle enforces the fee ceiling before it signs.",
            "settle:signs-as-the-operator": "Settle submits through a signer that pays the fee.",
            "settle:waits-for-the-result": "Settle answers with a final result when there is one.",
        },
    ),
    *section_promises(
        "States: settlement",
        {
            "settle:reconciles-by-hash": (
                "An unknown outcome is looked up by hash or identity before anything is sent again."
            )
        },
    ),
    *section_promises(
        "Authentication: payments",
        {
            "signature:binds-the-call": "The signature binds the whole invocation tree.",
            "signature:binds-the-network": "The signature binds the network.",
            "signature:binds-the-contract": "The signature binds the token contract.",
            "signature:binds-the-amount": "The signature binds the integer amount.",
            "signature:binds-the-recipient": "The signature binds the recipient.",
            "signature:binds-the-expiry": "The signature binds the expiration ledger.",
            "signature:classic-accounts": "Classic accounts pay with native signatures.",
            "signature:contract-accounts": (
                "Contract accounts pay by their own policy, which alone reads their signature."
            ),
        },
    ),
    *section_promises(
        "Errors",
        {
            "error:verify-rejects": "A rejected payment reads isValid false with a reason.",
            "error:settle-fails": "A failed settlement reads success false with a reason.",
            "error:expired-fails-closed": "An expired authorization is refused.",
            "error:tampering-fails": "A tampered authorization fails signature validation.",
            "error:never-a-double-charge": "A lost confirmation never leads to a second charge.",
        },
    ),
    *section_promises(
        "Limits",
        {"limit:fee-ceiling": "The most the operator pays for one transaction is a setting."},
    ),
    *section_promises(
        "Versioning",
        {
            "version:x402-is-2": "Every answer that names an x402 version names 2.",
            "version:networks-are-caip-2": "Networks are spelled stellar:testnet, stellar:pubnet.",
        },
    ),
)
