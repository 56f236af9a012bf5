"""The adversarial cases of faults: nodes, channels, kills, the database and the service."""

from typing import Final

from adversarial.row import section_rows

_NODE_RELIABILITY: Final = section_rows(
    "Reliability",
    {
        "RL-017": "A bid that the queue finds too low.",
        "RL-018": "Refusals with any other code, with none, or with an unreadable one.",
        "RL-019": "Answers to a send that are lost, cut off or a gateway's.",
        "RL-025": "The result of another transaction, or a hash in capitals.",
        "RL-026": "A node that computes another hash.",
        "RL-040": "A replica whose wall clock is minutes off, or jumps.",
        "RL-045": "Liveness and readiness under each fault of a node.",
    },
)

_CHANNEL_RELIABILITY: Final = section_rows(
    "Reliability",
    {
        "RL-027": "One of two source accounts with a sequence number that is lost.",
        "RL-028": "Many settles at once on few source accounts.",
        "RL-029": "A source account that another process uses too.",
        "RL-038": "The same payment at two replicas in the same moment.",
        "RL-041": "The signal to end while settles are in flight.",
    },
)

_ENDURANCE: Final = section_rows(
    "Reliability",
    {
        "RL-012": "Kills at random moments, one after the other, with many payments in flight.",
        "RL-044": "Memory and descriptors under load and faults.",
    },
)

_SERVICE: Final = section_rows(
    "Reliability",
    {
        "RL-032": "A database that is down when the service starts.",
        "RL-036": "A failover to a server that lacks the last writes.",
        "RL-037": "A server that may only read, behind the database's address.",
        "RL-042": "A full disk, and a log pipe without a reader.",
        "RL-043": "A migration while the version before works on.",
        "RL-046": "A fault of our own in any route, and after sending.",
        "RL-048": "A caller that repeats a pending payment all the time.",
    },
)

RELIABILITY_ROWS: Final = (
    *_NODE_RELIABILITY,
    *_CHANNEL_RELIABILITY,
    *_ENDURANCE,
    *_SERVICE,
)
