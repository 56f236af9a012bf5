SET LOCAL lock_timeout = '5s';

-- What the payer's client said of the resource it paid for, as bytes of one JSON object with the
-- members `resource` and `bazaar`, kept from the claim on: the outbox of the catalog. A confirmed
-- settlement with such bytes and no outcome is still to be listed, by whichever replica comes first.
ALTER TABLE settlements
    ADD COLUMN discovery bytea CHECK (length(discovery) <= 65536),
    ADD COLUMN max_timeout_s integer,              -- of the settled terms
    ADD COLUMN listing_outcome text;               -- 'listed', or the reason why it was dropped

CREATE INDEX settlements_unlisted ON settlements (finished_at)
    WHERE state = 'confirmed' AND discovery IS NOT NULL AND listing_outcome IS NULL;

-- Work on the outbox. No transaction of the catalog's locks a row of `settlements`, because one that
-- hangs would hold up the settlement; so who has taken a row, and what it came to, stand here until
-- `listing_outcome` says it. Both tables hold open work only.
CREATE TABLE listing_attempts (
    network text NOT NULL,
    payer text NOT NULL,
    nonce bigint NOT NULL,
    taken_until timestamptz NOT NULL,              -- nobody else takes it before
    failures smallint NOT NULL DEFAULT 0,          -- faults of the program, not of its surroundings
    checks smallint NOT NULL DEFAULT 0,            -- how often the resource was asked whose it is
    needs_check boolean NOT NULL DEFAULT false,    -- bound to another recipient: ask the resource

    PRIMARY KEY (network, payer, nonce)
);

-- Written in the transaction that writes the listing, so that a settlement counts once.
CREATE TABLE listing_decisions (
    network text NOT NULL,
    payer text NOT NULL,
    nonce bigint NOT NULL,
    outcome text NOT NULL,

    PRIMARY KEY (network, payer, nonce)
);

-- One listing a resource and network. Metadata is the owner's own text and is never trusted.
CREATE TABLE listings (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    network text NOT NULL,
    resource_key text NOT NULL,                    -- the canonical URL; an MCP tool's name behind it
    type text NOT NULL CHECK (type IN ('http', 'mcp')),
    url text NOT NULL,                             -- as shown
    tool_name text,
    method text,
    pay_to text NOT NULL,                          -- the recipient the key is bound to
    bound_at timestamptz NOT NULL,
    x402_version smallint NOT NULL DEFAULT 2,
    description text,
    mime_type text,
    service_name text,
    tags text[] NOT NULL DEFAULT '{}',
    icon_url text,
    extensions bytea NOT NULL,                     -- one JSON object, its numbers as they came
    extension_keys text[] NOT NULL,
    parameters text NOT NULL DEFAULT '',           -- names and descriptions, for the search
    source text NOT NULL DEFAULT 'settlement' CHECK (source IN ('settlement', 'wrapper')),
    listed_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,               -- of the last settlement under this binding
    -- the settlement whose text stands here: the newest of this binding, by the ledger
    settled_in_ledger bigint,
    settled_at timestamptz,
    -- verified: the resource itself answered a 402 that names the recipient
    ownership text NOT NULL DEFAULT 'unverified' CHECK (ownership IN ('unverified', 'verified')),
    verified_at timestamptz,
    removed_at timestamptz,                        -- NULL = shown

    UNIQUE (network, resource_key),
    CHECK ((type = 'mcp') = (tool_name IS NOT NULL))
);

CREATE INDEX listings_pay_to ON listings (pay_to, network);

-- The last settled terms of each scheme and asset.
CREATE TABLE listing_terms (
    listing_id bigint NOT NULL REFERENCES listings ON DELETE CASCADE,
    scheme text NOT NULL,
    asset text NOT NULL,
    amount numeric(39, 0) NOT NULL,
    pay_to text NOT NULL,
    max_timeout_s integer NOT NULL,
    settled_in_ledger bigint NOT NULL,
    settled_at timestamptz NOT NULL,

    PRIMARY KEY (listing_id, scheme, asset)
);

-- Who has paid for a listing under its present binding, and how often. Apart from the listing, so
-- that a repeated purchase touches one narrow row.
CREATE TABLE listing_payers (
    listing_id bigint NOT NULL REFERENCES listings ON DELETE CASCADE,
    payer text NOT NULL,
    settlements bigint NOT NULL,
    first_at timestamptz NOT NULL,
    last_at timestamptz NOT NULL,

    PRIMARY KEY (listing_id, payer)
) WITH (fillfactor = 70);
