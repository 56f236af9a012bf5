SET LOCAL lock_timeout = '5s';

-- The settlement journal: one row per payment identity (network, payer, authorization nonce).
-- A row is written before each side effect and its state only goes forward:
-- claimed -> sending -> submitted -> confirmed | failed | dead | unproven.
CREATE TABLE settlements (
    network text NOT NULL,
    payer text NOT NULL,
    nonce bigint NOT NULL,
    state text NOT NULL DEFAULT 'claimed'
        CHECK (state IN ('claimed', 'sending', 'submitted', 'confirmed', 'failed', 'dead', 'unproven')),

    -- who was accepted, and for what
    request_digest bytea NOT NULL CHECK (length(request_digest) = 32),
    claim_id uuid NOT NULL,
    claimed_at timestamptz NOT NULL,
    asset text NOT NULL,
    amount numeric(39, 0) NOT NULL CHECK (amount > 0),
    pay_to text NOT NULL,
    expires_at_ledger bigint NOT NULL,

    -- what was signed; all of it is set from 'sending' on
    tx_hash bytea CHECK (length(tx_hash) = 32),
    envelope bytea,
    source text,
    source_sequence bigint,
    max_time timestamptz,
    fee_limit bigint,
    sent_after_ledger bigint,

    -- what became of it
    ledger bigint,
    fee_charged bigint,
    reason text,
    detail text,
    finished_at timestamptz,
    answered_at timestamptz,

    PRIMARY KEY (network, payer, nonce),
    CHECK (state = 'claimed' OR (
        tx_hash IS NOT NULL AND envelope IS NOT NULL AND source IS NOT NULL
        AND source_sequence IS NOT NULL AND max_time IS NOT NULL AND sent_after_ledger IS NOT NULL)),
    CHECK ((state IN ('confirmed', 'failed', 'dead', 'unproven')) = (finished_at IS NOT NULL)),
    CHECK (answered_at IS NULL OR state = 'confirmed')
);

CREATE UNIQUE INDEX settlements_tx_hash ON settlements (tx_hash);

-- A source account carries one transaction at a time, whichever replica holds it.
CREATE UNIQUE INDEX settlements_one_in_flight ON settlements (network, source)
    WHERE state IN ('sending', 'submitted');

CREATE INDEX settlements_unfinished ON settlements (network, claimed_at)
    WHERE state IN ('claimed', 'sending', 'submitted');
