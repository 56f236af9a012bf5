SET LOCAL lock_timeout = '5s';

-- What the paymaster sends besides runs: installations that owners have signed, and closings that
-- delegates have signed. Each has a channel account of its own until its outcome is known.
CREATE TABLE automation_sponsored (
    id text PRIMARY KEY,                                  -- aspo_…
    proposal_id text NOT NULL REFERENCES automation_proposals (id) ON DELETE CASCADE,
    purpose text NOT NULL CHECK (purpose IN ('install', 'close')),
    network text NOT NULL,
    owner text NOT NULL,                                  -- whose budget
    tx_hash bytea UNIQUE CHECK (octet_length(tx_hash) = 32),   -- of the fee bump; NULL = not signed
    inner_hash bytea UNIQUE CHECK (octet_length(inner_hash) = 32),
    source text,
    source_sequence bigint,
    max_time timestamptz,
    sent_after_ledger bigint,
    fee_limit bigint,                                     -- stroops: reserved until the outcome is known
    budget_on date,
    outcome text NOT NULL DEFAULT 'taken'
        CHECK (outcome IN ('taken', 'prepared', 'success', 'failed', 'dead', 'unknown')),
    fee_charged bigint,
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    finished_at timestamptz,

    CHECK ((outcome IN ('taken', 'prepared')) = (finished_at IS NULL)),
    CHECK (outcome <> 'prepared' OR tx_hash IS NOT NULL)
);

-- A plan has one installation under way, and one closing.
CREATE UNIQUE INDEX automation_sponsored_open ON automation_sponsored (proposal_id, purpose)
    WHERE finished_at IS NULL;
CREATE INDEX automation_sponsored_lost ON automation_sponsored (network, created_at)
    WHERE finished_at IS NULL;

ALTER TABLE automation_channels ADD COLUMN sponsored_id text UNIQUE
    REFERENCES automation_sponsored (id) ON DELETE SET NULL;
