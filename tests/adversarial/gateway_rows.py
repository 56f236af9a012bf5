"""The adversarial cases of outbound requests and the paid gateway."""

from typing import Final

from adversarial.row import Row, section_rows

_GATEWAY: Final = "gateway"

_TARGET: Final = section_rows(
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

_FORWARDING: Final = section_rows(
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

_PAID_GATEWAY: Final = section_rows(
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
    Row("GW-072", "Payment at the gateway", "The analytics of each case.", _GATEWAY),
    Row("GW-074", "Credential path", "An upstream moved to another host.", _GATEWAY),
    Row("GW-075", "Credential path", "A secret deleted or changed in use.", _GATEWAY),
)

GATEWAY_ROWS: Final = (
    *_TARGET,
    *_FORWARDING,
    *_PAID_GATEWAY,
)
