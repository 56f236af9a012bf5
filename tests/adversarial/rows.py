"""Every adversarial case, by id: what is tried, and what it waits for if not now."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Row:
    """One case: what a hostile or broken peer does."""

    id: str
    section: str
    tried: str
    waits_for: str | None = None


def _rows(section: str, cases: Mapping[str, str], *waiting: Row) -> tuple[Row, ...]:
    return tuple(Row(key, section, text) for key, text in cases.items()) + waiting


_BODY: Final = _rows(
    "Request body and JSON",
    {
        "PV-001": "Bodies that are no JSON object: empty, cut short, BOM, UTF-16, null, a list.",
        "PV-002": "Content types missing or odd.",
        "PV-003": "Exactly 256 KB, one byte more, chunked, and lengths that lie.",
        "PV-004": "Compressed bodies, one of which would expand to a gigabyte.",
        "PV-011": "Either half of the wrapper missing or of another type.",
        "PV-012": "An x402Version that is not the integer 2.",
        "PV-013": "The extra x402Version beside the wrapper that official clients send.",
        "PV-014": "Unknown members at every level.",
        "PV-015": "Other schemes, and exact in other spellings.",
        "PV-016": "Other networks, and ours in other spellings.",
        "PV-017": "Payload and requirements for two different networks.",
        "PV-018": "A network this deployment is not configured for.",
        "PV-019": "The flat payload without accepted.",
        "PV-020": "Flat network and accepted.network that disagree.",
        "PV-021": "Accepted terms that differ from the required ones.",
        "PV-022": "Sponsorship missing, false, or true in another spelling.",
        "PV-026": "A negative amount.",
        "PV-027": "The largest amounts, correctly encoded.",
        "PV-028": "Amounts beyond an i128.",
        "PV-029": "Amounts as JSON numbers.",
        "PV-030": "Assets that are not a contract id of the network.",
        "PV-031": "Recipients that are not an account or contract address.",
    },
)

_BYTES: Final = _rows(
    "Transaction bytes",
    {
        "PV-032": "A transaction that is missing, a number, empty or four zero bytes.",
        "PV-034": "Bytes after the envelope.",
        "PV-036": "Values nested 200, 300 and 10,000 deep, in three places.",
        "PV-037": "A tree of authorizations 1,000 deep or 10,000 wide.",
        "PV-038": "An array that claims 2^32-1 elements.",
        "PV-039": "Sixty thousand tiny elements, fifty requests at once.",
        "PV-040": "An envelope of version 0.",
        "PV-041": "A fee-bump envelope.",
        "PV-042": "Union arms that do not exist.",
        "PV-043": "Names, strings and memos that are not UTF-8.",
        "PV-044": "An envelope that is signed already, up to more often than allowed.",
    },
)

_CALL: Final = _rows(
    "Operation and call",
    {
        "PV-045": "No operation, two, a hundred.",
        "PV-046": "Operations that invoke nothing.",
        "PV-047": "Uploading code, creating a contract.",
        "PV-048": "Another contract than the asset.",
        "PV-049": "Another function than transfer.",
        "PV-050": "Two or four arguments.",
        "PV-052": "The recipient's account in its muxed form.",
        "PV-053": "A muxed recipient required.",
        "PV-057": "One unit more, one unit less.",
        "PV-058": "Another recipient.",
        "PV-059": "A contract address of account or muxed type.",
    },
)

_AUTHORIZATION: Final = _rows(
    "Authorization entries",
    {
        "PV-061": "The payer's entry without a signature.",
        "PV-062": "An unsigned entry for somebody else beside the payer's.",
        "PV-063": "Source-account credentials, alone and beside a good entry.",
        "PV-064": "Sub-invocations of every kind.",
        "PV-065": "An entry that the facilitator would have to sign.",
        "PV-072": "Nonce or expiration changed after signing.",
        "PV-075": "A thousand entries.",
        "PV-076": "A classic account with several signers, its own key worth nothing.",
        "PV-077": "The same signatures unsorted or twice.",
        "PV-078": "A contract account with a signature of its own kind.",
        "PV-079": "A contract account whose check emits an informational event.",
        "PV-080": "A contract account whose check moves another token or approves a spender.",
        "PV-082": "A contract account that is not deployed, or archived.",
        "PV-083": "An entry for an address that cannot authorize.",
        "PV-084": "A nonce that was spent on the ledger.",
        "PV-085": "The nonces 0 and -1, the smallest and the largest.",
    },
)

_OPERATOR: Final = _rows(
    "Operator safety",
    {
        "PV-086": "The facilitator as source of transaction or operation.",
        "PV-088": "The facilitator as payer.",
        "PV-090": "An operator account as recipient.",
        "PV-091": "A stranger as source of the operation.",
        "PV-093": "What was submitted, beside what was asked for.",
        "PV-094": "The signed envelope, looked for in answers and logs.",
    },
)

_FEES: Final = _rows(
    "Fees and resources",
    {
        "PV-095": "An enormous fee offered by the client.",
        "PV-096": "A client's fee below what the call costs.",
        "PV-097": "A simulated cost above the ceiling.",
        "PV-103": "No resource data in the envelope.",
        "PV-108": "A sponsor's balance below its floor.",
        "PV-110": "A simulation answer of 50 MB.",
        "PV-107": "An inclusion fee too low for a busy network.",
        "PV-111": "Payments to oneself, payments of nothing.",
    },
)

_ENVELOPE: Final = _rows(
    "Preconditions and envelope fields",
    {
        "PV-113": "Time bounds in the past, or far in the future.",
        "PV-115": "The all-zero source and sequence 0 of the official client.",
        "PV-116": "The largest sequence number.",
    },
)

_SIMULATION: Final = _rows(
    "Simulation and events",
    {
        "PV-117": "A simulation error.",
        "PV-118": "A simulation that asks for a restore first.",
        "PV-119": "No events.",
        "PV-120": "Two transfers, equal or different.",
        "PV-121": "A transfer event with one field wrong or missing.",
        "PV-122": "System and diagnostic events beside the transfer.",
        "PV-123": "Another token event of the asset.",
        "PV-124": "Three topics, four topics, data with a mux id.",
        "PV-125": "The asset's issuer as payer or recipient.",
        "PV-126": "A contract that emits a perfect transfer and moves nothing.",
        "PV-127": "A token that keeps a part while its event shows the whole.",
        "PV-128": "A balance emptied between verify and settle.",
        "PV-130": "A transaction that lands as failed.",
        "PV-132": "A node that answers about the past.",
        "PV-133": "Answers with members missing, of other types, unknown, null.",
    },
)

_EXPIRATION: Final = _rows(
    "Expiration",
    {
        "PV-136": "The last ledger there can be.",
        "PV-140": "A transaction that could outlive its authorization.",
    },
)

_REPLAY: Final = _rows(
    "Replay, duplicates, races",
    {
        "PV-141": "The same body twice.",
        "PV-144": "The same signed entry under other wording.",
        "PV-145": "The same nonce of another payer, and on another network.",
        "PV-146": "A payment that failed on the ledger, sent again.",
        "PV-147": "A thousand verifies before the settle.",
        "PV-148": "Somebody else submits the same entry first.",
        "PV-149": "A duplicate after the authorization has expired.",
        "PV-150": "The payment-identifier extension, repeated, changed, in parallel, malformed.",
    },
)

_ANSWERS: Final = _rows(
    "Answers",
    {
        "PV-151": "What a success says.",
        "PV-152": "Every refusal on both routes, twice.",
        "PV-153": "What is advertised.",
        "PV-154": "Every advertised kind sent with junk.",
        "PV-155": "A node that is down, slow or answers 429.",
        "PV-156": "A node's error that contains its URL and key.",
        "PV-157": "A flood of malformed payloads.",
        "PV-158": "A caller that disconnects during settle.",
        "PV-159": "Other methods on the two routes.",
    },
)

_SERVICE: Final = _rows(
    "Reliability",
    {
        "RL-032": "A database that is down when the service starts.",
        "RL-036": "A failover to a server that lacks the last writes.",
        "RL-037": "A server that may only read, behind the database's address.",
        "RL-042": "A full disk, and a log pipe that nobody reads.",
        "RL-043": "A migration while the version before works on.",
        "RL-046": "A fault of our own in any route, and after sending.",
        "RL-048": "A caller that repeats a pending payment all the time.",
    },
)

_NODE_RELIABILITY: Final = _rows(
    "Reliability",
    {
        "RL-017": "A bid that the queue finds too low.",
        "RL-018": "Refusals with any other code, with none, or with one nobody can read.",
        "RL-019": "Answers to a send that are lost, cut off or a gateway's.",
        "RL-025": "The result of another transaction, or a hash in capitals.",
        "RL-026": "A node that computes another hash.",
        "RL-040": "A replica whose wall clock is minutes off, or jumps.",
        "RL-045": "Liveness and readiness under each fault of a node.",
    },
)


_CHANNEL_RELIABILITY: Final = _rows(
    "Reliability",
    {
        "RL-027": "One of two source accounts with a sequence number that is lost.",
        "RL-028": "Many settles at once on few source accounts.",
        "RL-029": "A source account that another process uses too.",
        "RL-038": "The same payment at two replicas in the same moment.",
        "RL-041": "The signal to end while settles are in flight.",
    },
)

_ENDURANCE: Final = _rows(
    "Reliability",
    {
        "RL-012": "Kills at random moments, one after the other, with many payments in flight.",
        "RL-044": "Memory and descriptors under load and faults.",
    },
)

_RULES: Final = _rows(
    "Ingestion: rules",
    {
        "CT-003": "Words about a resource that cannot be read, or are too many.",
        "CT-005": "Route templates that climb, in every encoding.",
        "CT-010": "Route templates that lead to another host.",
        "CT-011": "Route templates without a form, endless or with control characters.",
        "CT-013": "Two templates of one shape with other names.",
        "CT-014": "A template on a tool.",
        "CT-016": "URLs that are deliberately different.",
        "CT-017": "One place in many spellings, and another that looks alike.",
        "CT-018": "URLs that are no place on the web.",
        "CT-019": "Hosts inside somebody's network.",
        "CT-025": "Schemas that admit everything, are none, or reach beyond themselves.",
        "CT-026": "A schema that says one thing, and info another.",
        "CT-027": "Kinds that are neither HTTP nor MCP.",
        "CT-028": "Methods that are none of the six.",
        "CT-029": "Tools without a plain name.",
        "CT-035": "Icons on private hosts.",
        "CT-037": "Members nobody asked for.",
    },
)

_QUERIES: Final = _rows(
    "Browse and search",
    {
        "CT-049": "Limits of nothing, below, beyond all, in words and in other digits.",
        "CT-050": "Offsets below zero, past what a number holds, and very deep ones.",
        "CT-051": "Unknown, repeated and empty filters, and one filter in two spellings.",
        "CT-052": "Filter values that mean something to SQL, to patterns or to JSON paths.",
        "CT-060": "A word in a name or a tag, and the same word in a description.",
        "CT-063": "A forged host while addresses are written into an answer.",
    },
    Row("CT-061", "Browse and search", "A wrapper that is switched off.", waits_for="gateway"),
    Row("CT-062", "Browse and search", "Ten thousand wrappers at once.", waits_for="gateway"),
)

_INGESTION: Final = _rows(
    "Ingestion",
    {
        "CT-001": "A hundred verifications with flawless metadata.",
        "CT-002": "Settles that are refused, pending, or ended by nobody's call.",
        "CT-030": "Several tools and a resource at one URL.",
        "CT-040": "A stranger is the first to be paid for somebody's resource.",
        "CT-041": "A resource that is slow or silent when it is asked whose it is.",
        "CT-042": "Payments to oneself.",
        "CT-043": "Thousands of keys of one recipient, some of them at once.",
        "CT-045": "Two settlements of one entry that finish the wrong way round.",
        "CT-048": "Reasons of any length and with line ends in a header.",
    },
    Row("CT-044", "Ingestion", "A wrapper's upstream and secrets.", waits_for="gateway"),
)

_GATEWAY: Final = "gateway"

_TARGET: Final = _rows(
    "Target address",
    {
        "GW-016": "Certificates of another name, of strangers, expired, of the address.",
        "GW-017": "User info in every spelling.",
        "GW-018": "Other schemes, and https in other spellings.",
        "GW-019": "Ports of other services, no ports, impossible ports.",
        "GW-020": "Hosts with escapes, NUL, foreign letters, endless labels.",
        "GW-021": "The service itself as the address.",
        "GW-022": "Redirects of every kind.",
        "GW-023": "Proxies and passwords that the machine's environment names.",
        "GW-024": "Names that resolve to nowhere, to a link, to this machine.",
    },
)

_FORWARDING: Final = _rows(
    "Paths, headers, sizes",
    {},
    Row("GW-029", "Paths and queries", "Slugs in other spellings, unknown, disabled.", _GATEWAY),
    Row("GW-030", "Paths and queries", "Queries of every kind.", _GATEWAY),
    Row("GW-032", "Paths and queries", "Upgrades and expectations.", _GATEWAY),
    Row("GW-037", "Headers and framing", "Headers of one hop.", _GATEWAY),
    Row("GW-040", "Headers and framing", "Payment headers sent upstream.", _GATEWAY),
    Row("GW-043", "Headers and framing", "Line ends and foreign bytes in headers.", _GATEWAY),
    Row("GW-045", "Headers and framing", "Forged forwarding headers.", _GATEWAY),
    Row("GW-046", "Headers and framing", "Ranges, conditions, encodings.", _GATEWAY),
    Row("GW-048", "Sizes and time", "A request body over the limit.", _GATEWAY),
    Row("GW-052", "Sizes and time", "A slow buyer, a buyer who leaves.", _GATEWAY),
    Row("GW-053", "Sizes and time", "Odd statuses and reasons.", _GATEWAY),
)

_PAID_GATEWAY: Final = _rows(
    "Payment at the gateway",
    {},
    Row("GW-055", "Payment at the gateway", "No payment.", _GATEWAY),
    Row("GW-056", "Payment at the gateway", "Payment headers that are none.", _GATEWAY),
    Row("GW-059", "Payment at the gateway", "One payment fifty times at once.", _GATEWAY),
    Row("GW-064", "Payment at the gateway", "A payment that names another resource.", _GATEWAY),
    Row("GW-066", "Payment at the gateway", "A quota at the turn of the month.", _GATEWAY),
    Row("GW-068", "Payment at the gateway", "Prices that are none.", _GATEWAY),
    Row("GW-069", "Payment at the gateway", "Recipients that cannot receive.", _GATEWAY),
    Row("GW-070", "Payment at the gateway", "Assets that are none.", _GATEWAY),
    Row("GW-071", "Payment at the gateway", "Retries inside the proxy.", _GATEWAY),
    Row("GW-072", "Payment at the gateway", "What the analytics say of each case.", _GATEWAY),
    Row("GW-074", "Credential path", "An upstream moved to another host.", _GATEWAY),
    Row("GW-075", "Credential path", "A secret deleted or changed in use.", _GATEWAY),
)

_OUTBOUND: Final = (*_TARGET, *_FORWARDING, *_PAID_GATEWAY)

_CATALOG: Final = (
    *_RULES,
    *_INGESTION,
    *_QUERIES,
)

_SIGN_IN: Final = _rows(
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
        "AU-041": "Sign-in shown in a frame, or told where to go afterwards.",
    },
)

_CREDENTIALS: Final = _rows(
    "Authentication and keys",
    {
        "AU-019": "Session tokens guessed, cut short, longer, in other letters, in the query.",
        "AU-022": "A key looked for in every answer, log and row but the two it is shown in.",
        "AU-023": "Keys that could be foreseen, or told from their prefix.",
        "AU-026": "The time a key with the right beginning takes to be refused.",
        "AU-027": "Wrong schemes, double spaces, two headers, a key in a cookie, odd lengths.",
        "AU-028": "The operator's digest shown as its key; no key, an empty key configured.",
        "AU-029": "The operator's key on routes of users.",
        "AU-036": "One wallet by session and by key, on two networks; two wallets.",
        "AU-037": "Pages of other origins that want to read.",
        "AU-038": "Requests that another site has a browser send along with the session cookie.",
        "AU-044": "The facilitator without a key, with a wrong one, with one too weak, too often.",
        "AU-043": "Pages of errors, of debugging and of frameworks, looked for and provoked.",
        "AU-048": "What the audit trail says of keys, and what it must not.",
    },
    Row(
        "AU-035",
        "Authentication and keys",
        "A slug given up and claimed by another; slugs like routes, in other letters.",
        waits_for="gateway",
    ),
    Row(
        "AU-039", "Console", "Stored text in every view, frames, other types.", waits_for="console"
    ),
    Row("AU-040", "Console", "Secrets in the bundle or in what it sends.", waits_for="console"),
)

_VAULT: Final = _rows(
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

_RELIABILITY: Final = (*_NODE_RELIABILITY, *_CHANNEL_RELIABILITY, *_ENDURANCE, *_SERVICE)
_MORE: Final = (*_ENVELOPE, *_SIMULATION, *_EXPIRATION, *_REPLAY, *_ANSWERS, *_RELIABILITY)

ROWS: Final = (
    *_BODY,
    *_BYTES,
    *_CALL,
    *_AUTHORIZATION,
    *_OPERATOR,
    *_FEES,
    *_MORE,
    *_CATALOG,
    *_OUTBOUND,
    *_SIGN_IN,
    *_CREDENTIALS,
    *_VAULT,
)
