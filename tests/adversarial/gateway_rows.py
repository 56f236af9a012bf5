"""The adversarial cases of outbound requests and the paid gateway."""

from typing import Final

from adversarial.row import section_rows

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
    {
        "GW-029": "Slugs in other spellings, unknown, disabled.",
        "GW-030": "Queries of every kind.",
        "GW-032": "Upgrades and expectations.",
        "GW-037": "Headers of one hop.",
        "GW-040": "Payment headers sent upstream.",
        "GW-043": "Line ends and foreign bytes in headers.",
        "GW-045": "Forged forwarding headers.",
        "GW-046": "Ranges, conditions, encodings.",
        "GW-048": "A request body over the limit.",
        "GW-052": "A slow buyer, a buyer who leaves.",
        "GW-053": "Odd statuses and reasons.",
    },
)

_PAID_GATEWAY: Final = section_rows(
    "Payment at the gateway",
    {
        "GW-055": "No payment.",
        "GW-056": "Payment headers that are none.",
        "GW-059": "One payment fifty times at once.",
        "GW-064": "A payment that names another resource.",
        "GW-066": "A quota at the turn of the month.",
        "GW-068": "Prices that are none.",
        "GW-069": "Recipients that cannot receive.",
        "GW-070": "Assets that are none.",
        "GW-071": "Retries inside the proxy.",
        "GW-072": "The analytics of each case.",
        "GW-074": "An upstream moved to another host.",
        "GW-075": "A secret deleted or changed in use.",
        "GW-076": "Two transfers with one nonce, in every order.",
        "GW-077": "A transfer that another party lands before, during and after.",
        "GW-078": "A landed authorization in an envelope of other bytes.",
    },
)

GATEWAY_ROWS: Final = (
    *_TARGET,
    *_FORWARDING,
    *_PAID_GATEWAY,
)
