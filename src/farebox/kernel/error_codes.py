"""Every error code of the service, with its HTTP status and its default sentence.

`/verify` and `/settle` answer with the reasons of `x402/reasons.py` instead.
"""

from enum import StrEnum
from typing import Self


class ErrorCode(StrEnum):
    """A code never changes its meaning; the sentence is for people and may change."""

    status: int
    sentence: str

    def __new__(cls, code: str, status: int, sentence: str) -> Self:
        """Make a member from its code, its HTTP status and its default sentence."""
        member = str.__new__(cls, code)
        member._value_ = code
        member.status, member.sentence = status, sentence
        return member

    INVALID_REQUEST = "invalid_request", 400, "The body does not have the shape of the route."
    INVALID_QUERY_STRING = "invalid_query_string", 400, "The query string cannot be read."
    QUERY_STRING_TOO_LONG = "query_string_too_long", 400, "The query string is too long."
    TOO_MANY_PARAMETERS = "too_many_parameters", 400, "The query has too many parameters."
    REPEATED_PARAMETER = "repeated_parameter", 400, "A parameter has two values."
    EMPTY_PARAMETER = "empty_parameter", 400, "A parameter has an empty value."
    CONFLICTING_PARAMETERS = "conflicting_parameters", 400, "Two parameters exclude each other."
    UNKNOWN_PARAMETER = "unknown_parameter", 400, "The route has no such parameter."
    CONTROL_CHARACTERS = "control_characters", 400, "A parameter has control characters."
    INVALID_LIMIT = "invalid_limit", 400, "The limit is a whole number from 1 on."
    INVALID_OFFSET = "invalid_offset", 400, "The offset is a whole number from 0 to 2^63-1."
    INVALID_FLAG = "invalid_flag", 400, "A flag is true or false."
    INVALID_CURSOR = "invalid_cursor", 400, "The cursor is not one this service has given."
    CURSOR_MISMATCH = (
        "cursor_mismatch",
        400,
        "The cursor belongs to another query or other filters.",
    )
    CURSOR_EXPIRED = "cursor_expired", 400, "The cursor is too old: search again without it."
    QUERY_REQUIRED = "QUERY_REQUIRED", 400, "Say what to search for with query."
    QUERY_TOO_LONG = "query_too_long", 400, "The query is too long."
    PAY_TO_REQUIRED = "pay_to_required", 400, "Name the recipient with payTo."
    INVALID_VALIDATION_REQUEST = (
        "invalid_validation_request",
        400,
        (
            "Send {paymentPayload} or {resource, extensions} to have metadata judged, "
            "or {url, method} to have the URL's own 402 judged."
        ),
    )
    INVALID_PERIOD = "invalid_period", 400, "from and to are no period of days."
    INVALID_ACTION = "invalid_action", 400, "The audit log has no such action."
    INVALID_NAME = "invalid_name", 400, "The name cannot be used."
    INVALID_EXPIRY = "invalid_expiry", 400, "Say expiresAt or expiresInSeconds, not both."
    INVALID_VALUE = "invalid_value", 400, "The value is too short or too long."
    VALUE_NOT_FOR_HEADER = "value_not_for_header", 400, "The value cannot stand in a header."
    INVALID_WRAPPER = "invalid_wrapper", 400, "The wrapper cannot be like that."
    INVALID_ADDRESS = (
        "invalid_address",
        400,
        "The address is not that of an account or a contract.",
    )
    UNSUPPORTED_NETWORK = "unsupported_network", 400, "The network is not served here."
    MUXED_ACCOUNT_UNSUPPORTED = (
        "muxed_account_unsupported",
        400,
        "Muxed addresses cannot be used: name the account or the contract.",
    )
    MEMO_UNSUPPORTED = "memo_unsupported", 400, "A memo cannot be signed in with."
    UNKNOWN_HOME_DOMAIN = "unknown_home_domain", 400, "The home domain is not the service's."
    INVALID_CHALLENGE = (
        "invalid_challenge",
        400,
        "This is not a challenge of this service for this network, signed or not.",
    )
    ACCOUNT_ARCHIVED = (
        "account_archived",
        400,
        "A contract that is asked is archived: restore the account on the network first.",
    )
    MALFORMED_HTTP = "malformed_http", 400, "This is not a well-formed HTTP request."
    INVALID_PAYMENT_HEADER = "invalid_payment_header", 400, "PAYMENT-SIGNATURE holds no payment."
    INVALID_ENTRY = (
        "invalid_entry",
        400,
        "Look at entry. It is the unsigned authorization entry that was prepared, base64 XDR.",
    )
    INVALID_SIGNATURE = (
        "invalid_signature",
        400,
        "The signature is not of the form that the payer needs.",
    )
    INVALID_ASSET = (
        "invalid_asset",
        400,
        "An asset is native, CODE:ISSUER or the C… address of a token contract.",
    )
    INVALID_REFUND = "invalid_refund", 400, "The transaction is not a refund of this payment."
    INVALID_FILTER = "invalid_filter", 400, "A filter has a value that it does not take."
    NOT_FORWARDED = "not_forwarded", 400, "A part of the request cannot be sent to the upstream."
    UNAUTHENTICATED = "unauthenticated", 401, "Show a session or a key: Authorization: Bearer …"
    CHALLENGE_NOT_OPEN = (
        "challenge_not_open",
        401,
        "The challenge cannot be used (again): ask for a new one.",
    )
    SIGNATURE_REFUSED = (
        "signature_refused",
        401,
        "The signatures do not reach what the account asks for, or one is not of a signer.",
    )
    ACCOUNT_NOT_PROVEN = (
        "account_not_proven",
        403,
        "The account of a plan is the wallet that is signed in, on its own network.",
    )
    SCOPE_MISSING = "scope_missing", 403, "The key lacks a scope."
    SESSION_REQUIRED = "session_required", 403, "Sign in with the wallet: a key may not do this."
    CROSS_SITE_REQUEST = (
        "cross_site_request",
        403,
        "With the session cookie send our own Origin and the header X-Farebox-CSRF.",
    )
    ORIGIN_NOT_ALLOWED = "origin_not_allowed", 403, "Pages of other origins may not send this."
    ACCOUNT_NOT_ALLOWED = (
        "account_not_allowed",
        403,
        "An account of the service cannot sign in to it.",
    )
    NOT_FOUND = "not_found", 404, "There is nothing at this path."
    ACCOUNT_NOT_FOUND = "account_not_found", 404, "The account is not on the ledger."
    CONTRACT_NOT_FOUND = "contract_not_found", 404, "The contract is not on the ledger."
    SKILL_NOT_FOUND = "SKILL_NOT_FOUND", 404, "There is no skill of this slug."
    SKILL_VERSION_NOT_FOUND = (
        "SKILL_VERSION_NOT_FOUND",
        404,
        "The skill has no such version: GET /v1/skills/{slug}/versions lists them.",
    )
    METHOD_NOT_ALLOWED = "method_not_allowed", 405, "This path does not take this method."
    REQUEST_TIMEOUT = "request_timeout", 408, "The body did not arrive in time."
    ACCOUNT_MISMATCH = (
        "account_mismatch",
        409,
        "The request was made for another account than the one that is signed in.",
    )
    NAME_TAKEN = "name_taken", 409, "The name is taken: choose another."
    SLUG_TAKEN = "slug_taken", 409, "The slug is taken: choose another."
    TOO_MANY_LISTINGS = (
        "too_many_listings",
        409,
        "The owner has the maximum number of listings for a recipient.",
    )
    TOO_MANY_WRAPPERS = "too_many_wrappers", 409, "The owner holds the maximum number of slugs."
    PAYMENT_USED = (
        "payment_used",
        409,
        "The payment belongs to another request, or its response was delivered.",
    )
    PAYMENT_NOT_OWED = (
        "payment_not_owed",
        409,
        "The payment is not owed: its response was delivered, or may still be.",
    )
    KEY_REVOKED = "key_revoked", 409, "The key works no more, so it cannot be rotated."
    TOO_MANY_KEYS = "too_many_keys", 409, "The owner has the maximum number of keys."
    SECRET_IN_USE = (
        "secret_in_use",
        409,
        "A wrapper uses this secret: change the wrapper first.",
    )
    TOO_MANY_SECRETS = "too_many_secrets", 409, "The owner has the maximum number of secrets."
    QUOTA_REACHED = (
        "quota_reached",
        409,
        (
            "No more is kept for accounts that are not on the ledger, from here or in all: fund the"
            " account, and sign in again."
        ),
    )
    DUPLICATE_INTENT = (
        "duplicate_intent",
        409,
        "An open plan does the same: send allowDuplicate to have a second one.",
    )
    IDEMPOTENCY_KEY_REUSED = (
        "idempotency_key_reused",
        409,
        "The Idempotency-Key belongs to another request: use a new one.",
    )
    ILLEGAL_TRANSITION = "illegal_transition", 409, "The plan's state does not allow this."
    RUN_INDEX_PASSED = (
        "run_index_passed",
        409,
        "A later transaction of the plan's mandate was made: the earlier one can never be.",
    )
    QUOTE_EXPIRED = "quote_expired", 409, "The price is out of date: ask for it again."
    PAYMENT_IN_FLIGHT = (
        "payment_in_flight",
        409,
        "A payment of this plan is not final yet: wait for its outcome.",
    )
    SESSION_MISMATCH = (
        "session_mismatch",
        409,
        "What is installed is not the session that this plan proposed.",
    )
    SESSION_EXPIRES_TOO_SOON = (
        "session_expires_too_soon",
        409,
        "The session ends before the plan can use it.",
    )
    PREFLIGHT_FAILED = "preflight_failed", 409, "The first run would fail as of now."
    FEE_CEILING = "fee_ceiling", 409, "The network's fee is above the plan's maxFeeStroops."
    BODY_TOO_LARGE = "body_too_large", 413, "The body is too large."
    URL_TOO_LONG = "url_too_long", 414, "The URL is longer than 8 KB."
    UNSUPPORTED_MEDIA_TYPE = (
        "unsupported_media_type",
        415,
        "The body must be sent without a content encoding.",
    )
    HOST_NOT_ALLOWED = (
        "host_not_allowed",
        421,
        "The service does not answer under the name in the Host header.",
    )
    TARGET_UPGRADED = "target_upgraded", 422, "The contract's code is not the code that was agreed."
    INVALID_SCHEDULE = "invalid_schedule", 422, "The schedule cannot be read."
    SCHEDULE_NEVER_FIRES = (
        "schedule_never_fires",
        422,
        "The schedule is never due while the plan lives.",
    )
    INTERVAL_TOO_SHORT = "interval_too_short", 422, "The schedule is due too often."
    LIMIT_EXCEEDED = "limit_exceeded", 422, "A number is above the limits of plans."
    SPEC_MISMATCH = "spec_mismatch", 422, "A member of the plan does not fit, or an argument."
    FUNCTION_NOT_FOUND = "function_not_found", 422, "The contract has no such function."
    UNSUPPORTED_ACCOUNT = (
        "unsupported_account",
        422,
        "A plan of this kind cannot act for an account of this kind.",
    )
    TOO_MANY_REQUESTS = "too_many_requests", 429, "Too many requests."
    MONTHLY_QUOTA_USED = (
        "monthly_quota_used",
        429,
        "The wrapper has served its requests of this month (UTC); nothing was charged.",
    )
    TOO_MANY_CONNECTIONS = (
        "too_many_connections",
        429,
        "This address has as many connections open as one may have.",
    )
    HEAD_TOO_LARGE = (
        "head_too_large",
        431,
        "The head has more than 32 KB or more than 100 fields.",
    )
    INTERNAL_ERROR = (
        "internal_error",
        500,
        "An unexpected fault; the request id names it in the log.",
    )
    UPSTREAM_FAILED = (
        "upstream_failed",
        502,
        "The request is paid, and the upstream gave no response that counts as delivered.",
    )
    SETTLEMENT_UNKNOWN = (
        "settlement_pending",
        503,
        "The payment may have been sent: send the same request with the same payment again.",
    )
    SERVICE_UNAVAILABLE = (
        "service_unavailable",
        503,
        "Something the service needs is away; try again later.",
    )
    UPSTREAM_UNAVAILABLE = (
        "upstream_unavailable",
        503,
        "The upstream is not available; nothing was charged.",
    )
    SIGN_IN_UNAVAILABLE = (
        "sign_in_unavailable",
        503,
        "Signing in is not set up here: the operator sets FAREBOX_AUTH_SIGNING_SECRET.",
    )
    CONTRACT_LOGIN_UNAVAILABLE = (
        "contract_login_unavailable",
        503,
        "Contract accounts cannot sign in on this network: no web-auth contract is named.",
    )
    NETWORK_UNAVAILABLE = "network_unavailable", 503, "The network cannot be read or reached now."
    AUTOMATION_UNAVAILABLE = (
        "automation_unavailable",
        503,
        "Plans cannot run on this network: it has no funded paymaster here.",
    )
    UPSTREAM_TIMEOUT = (
        "upstream_timeout",
        504,
        "The request is paid, and the upstream did not answer in time.",
    )
    VAULT_UNAVAILABLE = "vault_unavailable", 503, "This service keeps no secrets."
