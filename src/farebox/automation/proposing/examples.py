"""The examples of the routes of proposing: one plan in every shape."""

from typing import Any, Final

_Json = dict[str, Any]
_ACCOUNT: Final = "GBDEVU63Y6NTHJQQZIKVTC23NWLQVP3WJ2RI2OTSJTNYOIGICST6DUXR"
_KEEPER: Final = "CBIELTK6YBZJU5UP2WWQEUCYKLPU6AUNZ2BQ4WWFEIE3USCIHMXQDAMA"
_DELEGATE: Final = "GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN"
_NETWORK: Final = "stellar:testnet"
_NATIVE: Final = "CDLZFC3SYJYDZT7K67VZ75HPJVIEUVNIXF47ZG2FB2RMQQVU2HHGCYSC"
_SCHEDULE: Final[_Json] = {"type": "cron", "expr": "0 8 * * 1", "timezone": "Europe/Paris"}
_SPEC: Final[_Json] = {
    "contract": _KEEPER,
    "effects": {"maxDebit": [], "minCredit": []},
    "function": None,
    "args": [],
    "autolayer": True,
    "expectedWasmHash": None,
}
_POLICY: Final = "2f1c" * 16
_RUN: Final[_Json] = {
    "at": "2026-11-30T07:00:00Z",
    "local": "2026-11-30T08:00:00+01:00",
    "timezone": "Europe/Paris",
    "notes": [],
}
_LIMITS: Final[_Json] = {
    "runLimit": 12,
    "authorizationLimit": 12,
    "minIntervalSeconds": 601200,
    "notBefore": "2026-11-25T12:00:00Z",
    "notAfter": "2027-05-14T12:00:00Z",
    "validUntilLedger": None,
    "caps": [],
}
_PERMISSIONS: Final = [
    "It may start 12 calls in all.",
    "Worst case, if the key is stolen: the calls above are made; no token leaves.",
]

REQUEST: Final[_Json] = {
    "kind": "contract_call",
    "network": _NETWORK,
    "title": "Weekly upkeep",
    "schedule": _SCHEDULE,
    "spec": {"contract": _KEEPER, "autolayer": True, "effects": {}},
    "runLimit": 12,
}
PROPOSAL: Final[_Json] = {
    "id": "auto_2nAbCdEfGhIjKlMnOpQrSt",
    "network": _NETWORK,
    "account": _ACCOUNT,
    "accountKind": "g",
    "kind": "contract_call",
    "title": "Weekly upkeep",
    "authorityMode": "open",
    "status": "proposed",
    "statusReason": None,
    "isCancelling": False,
    "schedule": _SCHEDULE,
    "spec": _SPEC,
    "missedRuns": "skip",
    "maxLatenessSeconds": 3600,
    "maxFeeStroops": "5000000",
    "runLimit": 12,
    "authorizationLimit": 12,
    "runsCredited": 0,
    "runsConsumed": 0,
    "runsSucceeded": 0,
    "authorizationsUsed": 0,
    "failuresInRow": 0,
    "policyId": _POLICY,
    "policyName": "pol_f4oc6hbpdqxrylzmd4oc",
    "delegate": _DELEGATE,
    "targetWasmHash": "ab12" * 16,
    "startsAt": "2026-11-25T12:00:00Z",
    "expiresAt": "2027-05-14T12:00:00Z",
    "overdueAt": "2026-11-26T12:00:00Z",
    "nextRuns": [_RUN],
    "createdAt": "2026-11-25T12:00:00Z",
    "updatedAt": "2026-11-25T12:00:00Z",
}
QUOTE: Final[_Json] = {
    "revision": 1,
    "runs": 12,
    "perRun": "0",
    "setup": "0",
    "total": "0",
    "asset": _NATIVE,
    "network": _NETWORK,
    "payTo": None,
    "validUntil": "2026-11-25T12:15:00Z",
    "isFree": True,
    "paymentIdentifier": "auto_2nAbCdEfGhIjKlMnOpQrSt_1",
    "fromCredit": 0,
    "creditAmount": "0",
}
SESSION: Final[_Json] = {
    "mode": "open",
    "state": "none",
    "network": _NETWORK,
    "networkPassphrase": "Test SDF Network ; September 2015",
    "account": _ACCOUNT,
    "accountGeneration": "g",
    "policyId": _POLICY,
    "policySpec": {"version": 1, "mode": "open", "calls": []},
    "policySpecXdr": "AAAAEQAAAAE=",
    "permissions": _PERMISSIONS,
    "delegate": {
        "type": "ed25519",
        "publicKey": "3b99" * 16,
        "address": _DELEGATE,
        "verifier": None,
    },
    "limits": _LIMITS,
    "install": None,
    "revoke": None,
    "contracts": [],
    "warnings": [],
}
PREFLIGHT: Final[_Json] = {
    "ok": True,
    "checks": [
        {
            "code": "dry_run",
            "ok": True,
            "detail": "The first transaction succeeds as of now.",
        }
    ],
    "estimatedFeeStroops": "41250",
    "firstRun": {"at": "2026-11-30T07:00:00Z", "effects": []},
}
DETAIL: Final[_Json] = {
    "proposal": PROPOSAL,
    "quote": QUOTE,
    "session": SESSION,
    "preflight": PREFLIGHT,
}
PREVIEW: Final[_Json] = {
    "authorityMode": "open",
    "schedule": [_RUN],
    "preflight": PREFLIGHT,
    "quote": QUOTE | {"revision": 0, "paymentIdentifier": ""},
    "permissions": _PERMISSIONS,
    "limits": _LIMITS,
    "warnings": [],
}
LIMITS: Final[_Json] = {
    "openPlansPerOwner": 20,
    "runs": 1000,
    "horizonSeconds": 14688000,
    "callsPerSession": 8,
    "receiversPerSession": 32,
    "receiversPerBatch": 100,
    "presignedEntries": 12,
    "shortestIntervalSeconds": 60,
    "shortestPollSeconds": 30,
    "networks": [
        {
            "network": _NETWORK,
            "isAvailable": True,
            "isFree": True,
            "modes": ["presigned", "open"],
            "contracts": [],
            "venues": [],
        }
    ],
}
