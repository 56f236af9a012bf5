SET LOCAL lock_timeout = '5s';

-- The token was no asset contract when the payment was accepted: every success says so.
ALTER TABLE settlements ADD COLUMN token_unverified boolean NOT NULL DEFAULT false;

-- The transaction that used the authorization where it is not the one in tx_hash: somebody else's,
-- or a stranger's fee bump around our own inner one.
ALTER TABLE settlements ADD COLUMN landed_hash bytea CHECK (length(landed_hash) = 32);
CREATE INDEX settlements_landed_hash ON settlements (landed_hash) WHERE landed_hash IS NOT NULL;

-- What callers call their requests: the seller's Idempotency-Key and the buyer's payment identifier.
-- A name belongs to one request of one payment while that payment has a row here. The answer is kept
-- for a key alone, as the bytes that were given.
CREATE TABLE request_names (
    kind text NOT NULL CHECK (kind IN ('idempotency-key', 'payment-identifier')),
    scope text NOT NULL,
    name text NOT NULL,
    network text NOT NULL,
    payer text NOT NULL,
    nonce bigint NOT NULL,
    request_digest bytea NOT NULL CHECK (length(request_digest) = 32),
    answer bytea,
    keep_until timestamptz NOT NULL,

    PRIMARY KEY (kind, scope, name)
);

CREATE INDEX request_names_expired ON request_names (keep_until);
