"""Promises about running the service: health, configuration, limits, faults, logs."""

from typing import Final

from spec.promise import section_promises

SERVICE: Final = (
    *section_promises(
        "What the service does",
        {
            "health:live": "Liveness is answered at /health/live.",
            "health:ready": "Readiness is answered at /health/ready, part by part.",
            "operator:account-needs-native-coin": (
                "An operator account without native coin shows in readiness and settles nothing."
            ),
            "operator:balance-floor": (
                "An operator account below its floor is warned of before it runs dry."
            ),
        },
    ),
    *section_promises(
        "What the service does",
        {
            "console:uses-these-apis": "The console is one page that uses these same APIs.",
            "console:no-secret-key": "Wallet code in the browser never receives a secret key.",
        },
    ),
    *section_promises(
        "Authentication: exposure",
        {
            "ingress:loopback-until-keys": (
                "Until callers can be authenticated the service listens on loopback only."
            ),
            "operator:two-accounts": (
                "One secret for relayer and paymaster is refused before listening."
            ),
            "log:no-payment-signatures": "Payment signatures never reach the log.",
            "log:no-authorization-xdr": "Authorization XDR never reaches the log.",
            "log:no-secrets": "Secrets never reach the log.",
            "log:no-authorization-headers": "Authorization headers never reach the log.",
            "ingress:callers-authenticated": "Hosted, the facilitator asks who calls.",
            "ingress:rate-limited": "Hosted, callers are limited in rate at the ingress.",
        },
    ),
    *section_promises(
        "Errors",
        {
            "error:database-away-fails-readiness": "Without its database readiness fails.",
            "error:database-away-stops-writes": (
                "Without its database nothing that writes is served, and nothing is sent."
            ),
            "error:one-network-away": "A network whose RPC is degraded is called unavailable.",
            "error:other-network-stays": (
                "The other network goes on being served and observed on its own."
            ),
            "error:no-internals": "The response to an unhandled fault shows no internal detail.",
            "error:bad-configuration-stops-the-start": (
                "With an invalid environment the process fails before it listens."
            ),
        },
    ),
    *section_promises(
        "Limits",
        {"limit:body-256-kb": "A JSON body above 256 KB is refused, counted as it streams in."},
    ),
)
