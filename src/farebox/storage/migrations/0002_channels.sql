SET LOCAL lock_timeout = '5s';

-- Accounts that carry sequence numbers for the relayer, who only pays fees. Keys are derived from
-- the relayer's, so nothing secret is kept. A lease names who may sign next with a channel; its
-- epoch only grows, so that a holder who was given up cannot write any more.
CREATE TABLE channels (
    network text NOT NULL,
    address text NOT NULL,
    derivation_index integer NOT NULL CHECK (derivation_index >= 0),
    state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'draining', 'retired')),
    used_sequence bigint,          -- the last number known to be used; NULL = read it from the chain
    lease_epoch bigint NOT NULL DEFAULT 0,
    leased_until timestamptz,      -- NULL = free
    created_at timestamptz NOT NULL,

    PRIMARY KEY (network, address),
    UNIQUE (network, derivation_index)
);

CREATE INDEX channels_free ON channels (network, leased_until) WHERE state = 'active';

-- Both hashes of a fee-bumped envelope: the outer one is answered, either may be found.
ALTER TABLE settlements ADD COLUMN inner_hash bytea CHECK (length(inner_hash) = 32);
CREATE UNIQUE INDEX settlements_inner_hash ON settlements (inner_hash);
