"""Promises to those who own something here: accounts, keys, secrets, automations."""

from typing import Final

from spec.promise import section_promises

OWNERS: Final = (
    *section_promises(
        "Authentication records",
        {
            "challenge:single-use": "A challenge is a Stellar transaction that works once.",
            "challenge:five-minutes": "A challenge is valid five minutes.",
            "session:24-hours": "A session is valid 24 hours.",
        },
    ),
    *section_promises(
        "Authentication records",
        {
            "api-key:shown-once": "A key's plaintext is seen at creation and rotation only.",
            "api-key:hashed": "A key is stored as a hash only.",
            "api-key:prefix": "A key has the fixed prefix that ends in _live_.",
        },
    ),
    *section_promises(
        "States: challenge",
        {
            "challenge:consumed-by-verify": (
                "The exact transaction with a valid wallet signature gives a session, once."
            ),
            "challenge:expires": "An expired challenge cannot be used.",
        },
    ),
    *section_promises(
        "Authentication", {"session:not-broadcast": "Logging in puts nothing on the ledger."}
    ),
    *section_promises(
        "Authentication",
        {
            "account:stable-user-id": "Session and key resolve to one stable user id.",
            "api-key:life": "Keys are created, listed, rotated and revoked under /v1/api-keys.",
            "operator-key:never-a-users": "The operator key is never given to console users.",
            "operator-key:compared-as-digest": (
                "Keys are compared as SHA-256 digests in constant time."
            ),
            "operator-key:derived-owner": "The operator's records carry a derived owner id.",
            "management:three-credentials": (
                "Management takes a wallet session, a personal key or the operator key."
            ),
            "version:v1-management": "Management lives below /v1.",
        },
    ),
    *section_promises(
        "Authentication",
        {
            "account:scopes-records": (
                "The user id scopes wrappers, secrets, logs, payments and quotas."
            )
        },
    ),
    *section_promises(
        "Vault secret",
        {
            "vault:aes-256-gcm": "A secret is sealed with AES-256-GCM.",
            "vault:unique-nonce": "Each value has a nonce of its own.",
            "vault:bound-to-its-id": "The sealed value opens for its own secret id only.",
            "vault:key-version": "Opening insists on the key version it was sealed with.",
            "vault:list-without-values": "Listing shows metadata and never a value.",
            "vault:stored-by-its-owner": "Secrets are stored and listed for their owner.",
            "limit:master-key-32-bytes": "The master key has 32 bytes.",
        },
    ),
    *section_promises(
        "Automation proposal",
        {
            "automation:four-kinds": (
                "A contract call, DCA, rebalancing and disbursement can be proposed."
            ),
            "automation:fresh-delegate": "Each proposal has a fresh delegate keypair.",
            "automation:delegate-sealed": "The delegate's key is sealed with its context.",
            "automation:session-material": "A proposal returns material for a wallet session.",
            "automation:policy-id": "The policy id is a function of the proposal.",
            "automation:finite-runs": "The number of runs is finite and priced.",
            "automation:two-limits": (
                "The run limit and the wallet session's limit are kept apart."
            ),
            "automation:exact-call": "A generic call is bound to one contract and function.",
            "automation:contract-convention": (
                "autolayer_check and autolayer_run are the contract's two entries."
            ),
            "automation:no-security-boundary": (
                "A contract that enforces its own rules stays safe from its scheduler."
            ),
        },
    ),
    *section_promises(
        "States: automation",
        {
            "automation:states": "Only the listed states and the ways between them exist.",
            "automation:bounded-retries": "Retries are bounded and the last error is recorded.",
        },
    ),
)
