"""The adversarial cases of `/verify` and `/settle`."""

from typing import Final

from adversarial.row import section_rows

_BODY: Final = section_rows(
    "Request body and JSON",
    {
        "PV-001": "Bodies that are no JSON object: empty, cut short, BOM, UTF-16, null, a list.",
        "PV-002": "Content types missing or odd.",
        "PV-003": "Exactly 256 KB, one byte more, chunked, and lengths that lie.",
        "PV-004": "Compressed bodies, one of which would expand to a gigabyte.",
        "PV-011": "Either half of the wrapper missing or of another type.",
        "PV-012": "An x402Version that is not the integer 2.",
        "PV-013": "The extra x402Version outside the wrapper that official clients send.",
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

_BYTES: Final = section_rows(
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

_CALL: Final = section_rows(
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

_AUTHORIZATION: Final = section_rows(
    "Authorization entries",
    {
        "PV-061": "The payer's entry without a signature.",
        "PV-062": "An unsigned entry of another account in addition to the payer's.",
        "PV-063": "Source-account credentials, alone and together with a good entry.",
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

_OPERATOR: Final = section_rows(
    "Operator safety",
    {
        "PV-086": "The facilitator as source of transaction or operation.",
        "PV-088": "The facilitator as payer.",
        "PV-090": "An operator account as recipient.",
        "PV-091": "A stranger as source of the operation.",
        "PV-093": "The submitted transaction compared with the requested one.",
        "PV-094": "The signed envelope in answers and logs.",
    },
)

_FEES: Final = section_rows(
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

_ENVELOPE: Final = section_rows(
    "Preconditions and envelope fields",
    {
        "PV-113": "Time bounds in the past, or far in the future.",
        "PV-115": "The all-zero source and sequence 0 of the official client.",
        "PV-116": "The largest sequence number.",
    },
)

_SIMULATION: Final = section_rows(
    "Simulation and events",
    {
        "PV-117": "A simulation error.",
        "PV-118": "A simulation that asks for a restore first.",
        "PV-119": "No events.",
        "PV-120": "Two transfers, equal or different.",
        "PV-121": "A transfer event with one field wrong or missing.",
        "PV-122": "System and diagnostic events in addition to the transfer.",
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

_EXPIRATION: Final = section_rows(
    "Expiration",
    {
        "PV-136": "The last ledger there can be.",
        "PV-140": "A transaction that could outlive its authorization.",
    },
)

_REPLAY: Final = section_rows(
    "Replay, duplicates, races",
    {
        "PV-141": "The same body twice.",
        "PV-144": "The same signed entry under other wording.",
        "PV-145": "The same nonce of another payer, and on another network.",
        "PV-146": "A payment that failed on the ledger, sent again.",
        "PV-147": "A thousand verifies before the settle.",
        "PV-148": "Another party submits the same entry first.",
        "PV-149": "A duplicate after the authorization has expired.",
        "PV-150": "The payment-identifier extension, repeated, changed, in parallel, malformed.",
    },
)

_ANSWERS: Final = section_rows(
    "Answers",
    {
        "PV-151": "The body of a success.",
        "PV-152": "Every refusal on both routes, twice.",
        "PV-153": "The advertised kinds.",
        "PV-154": "Every advertised kind sent with junk.",
        "PV-155": "A node that is down, slow or answers 429.",
        "PV-156": "A node's error that contains its URL and key.",
        "PV-157": "A flood of malformed payloads.",
        "PV-158": "A caller that disconnects during settle.",
        "PV-159": "Other methods on the two routes.",
    },
)

PAYMENT_ROWS: Final = (
    *_BODY,
    *_BYTES,
    *_CALL,
    *_AUTHORIZATION,
    *_OPERATOR,
    *_FEES,
    *_ENVELOPE,
    *_SIMULATION,
    *_EXPIRATION,
    *_REPLAY,
    *_ANSWERS,
)
