SET LOCAL lock_timeout = '5s';

-- The close time of the ledger in which another party's transaction used the authorization, or in
-- which a restored settlement landed. The success of a foreign landing is taken only where that is
-- after the claim; NULL, also in older rows, is no such proof.
ALTER TABLE settlements ADD COLUMN landed_at timestamptz;
-- Reconciliation looks at an undecided row again then; NULL: as soon as no call owns it.
ALTER TABLE settlements ADD COLUMN next_look_at timestamptz;

-- Envelopes in whose place another one of the same payment was made. A node that did not queue one
-- may have kept it all the same, and no answer but the ledger's shows that it can not land: it is
-- looked for until then, by whichever process has the row (docs/decisions/0049). A row with one that
-- no node has refused as invalid is never withdrawn.
CREATE TABLE replaced_envelopes (
    tx_hash bytea PRIMARY KEY CHECK (length(tx_hash) = 32),
    inner_hash bytea UNIQUE CHECK (length(inner_hash) = 32),
    network text NOT NULL,
    payer text NOT NULL,
    nonce bigint NOT NULL,
    source text NOT NULL,
    source_sequence bigint NOT NULL,
    max_time timestamptz NOT NULL,
    fee_limit bigint NOT NULL,
    sent_after_ledger bigint NOT NULL,
    was_refused boolean NOT NULL,
    replaced_at timestamptz NOT NULL DEFAULT clock_timestamp(),

    FOREIGN KEY (network, payer, nonce) REFERENCES settlements (network, payer, nonce)
        ON DELETE CASCADE
);

CREATE INDEX replaced_envelopes_payment ON replaced_envelopes (network, payer, nonce, replaced_at);
