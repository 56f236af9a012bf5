"""The adversarial cases of signing in, credentials and the vault."""

from typing import Final

from adversarial.row import section_rows

_SIGN_IN: Final = section_rows(
    "Signing in",
    {
        "AU-001": "A signed challenge used twice.",
        "AU-003": "A challenge at the end of its five minutes; clocks off; time bounds edited.",
        "AU-009": "The service's own accounts as wallets.",
        "AU-012": "Muxed accounts, memos, contract accounts.",
        "AU-013": "A client domain: asked for, added, signed or not.",
        "AU-015": "A challenge of one account, claimed for another.",
        "AU-016": "Ten thousand challenges for one account or from one address.",
        "AU-018": "Fee bumps, old envelopes, oversized and bomb-like XDR as a signed challenge.",
        "AU-020": "A session at its end, after sign-out, after its account lost the signer.",
        "AU-021": "A session's value brought along to the sign-in.",
        "AU-041": "Sign-in shown in a frame, or with a redirect target.",
    },
)

_CREDENTIALS: Final = section_rows(
    "Authentication and keys",
    {
        "AU-019": "Session tokens guessed, cut short, longer, in other letters, in the query.",
        "AU-022": "A key in any answer, log or row but the two it is shown in.",
        "AU-023": "Keys that could be predicted, or derived from their prefix.",
        "AU-026": "The time a key with the right beginning takes to be refused.",
        "AU-027": "Wrong schemes, double spaces, two headers, a key in a cookie, odd lengths.",
        "AU-028": "The operator's digest shown as its key; no key, an empty key configured.",
        "AU-029": "The operator's key on routes of users.",
        "AU-036": "One wallet by session and by key, on two networks; two wallets.",
        "AU-035": "A slug given up and claimed by another; slugs like routes, in other letters.",
        "AU-037": "Pages of other origins that want to read.",
        "AU-038": "Requests that another site has a browser send along with the session cookie.",
        "AU-044": "The facilitator without a key, with a wrong one, with one too weak, too often.",
        "AU-043": "Pages of errors, of debugging and of frameworks, looked for and provoked.",
        "AU-048": "The audit events of keys, and secrets in them.",
    },
)

_CONSOLE: Final = section_rows(
    "Console",
    {
        "AU-039": "Stored text in every view, frames, other types.",
        "AU-040": "Secrets in the bundle or in what it sends.",
    },
)

_VAULT: Final = section_rows(
    "Vault",
    {
        "VA-001": "Sealed text, nonce, tag, version or id exchanged between rows, or edited.",
        "VA-002": "The same secret stored twice.",
        "VA-003": "A row moved to another owner, or sealed for another table.",
        "VA-004": "Unknown, older and newer key versions, and rotation during use.",
        "VA-005": "Nonces under parallel writes on two replicas.",
        "VA-007": "Empty, 1 MB and binary values, and lines ended in a header's value.",
    },
)

ACCOUNT_ROWS: Final = (
    *_SIGN_IN,
    *_CREDENTIALS,
    *_CONSOLE,
    *_VAULT,
)
