SET LOCAL lock_timeout = '5s';

-- What the contracts are in which listings are paid, as the ledger has it; one row an asset that was
-- looked up. An asset's address is made from its network's id, so it is on one network alone.
CREATE TABLE tokens (
    network text NOT NULL,
    asset text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('asset_contract', 'wasm', 'external', 'absent')),
    code text,                                     -- of an asset contract
    issuer text,                                   -- of an asset contract; none for the native one
    wasm_hash bytea CHECK (length(wasm_hash) = 32),
    owner text,                                    -- who may swap the code of an external reference
    checked_at timestamptz NOT NULL,

    PRIMARY KEY (asset, network)
);

-- The distinct assets are found by going from one to the next.
CREATE INDEX listing_terms_asset ON listing_terms (asset);

-- Who asked for a validation in the last minute, and when. Nothing of worth: it may be lost.
CREATE UNLOGGED TABLE validation_turns (
    client text PRIMARY KEY,                       -- an IPv4 address, or the first half of an IPv6 one
    taken timestamptz[] NOT NULL,                  -- the newest turns, oldest first
    last_at timestamptz NOT NULL
) WITH (fillfactor = 70);

CREATE INDEX validation_turns_last_at ON validation_turns (last_at);
