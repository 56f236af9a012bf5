SET LOCAL lock_timeout = '5s';

-- Wallets that have signed in, their sessions, and the challenges that are open.
CREATE TABLE users (
    id text PRIMARY KEY,                                  -- derived from network and address
    network text NOT NULL,
    address text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (network, address)
);

CREATE TABLE sessions (
    id text PRIMARY KEY,                                  -- a name, no secret
    digest bytea NOT NULL UNIQUE,                         -- SHA-256 of the token
    user_id text NOT NULL REFERENCES users,
    created_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz
);
CREATE INDEX sessions_user ON sessions (user_id);
CREATE INDEX sessions_expiry ON sessions (expires_at);

CREATE TABLE challenges (
    digest bytea PRIMARY KEY,                             -- of exactly what was issued
    network text NOT NULL,
    address text NOT NULL,
    issued_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz NOT NULL,
    tries integer NOT NULL DEFAULT 0,                     -- how often it was held against the ledger
    consumed_at timestamptz
);
CREATE INDEX challenges_expiry ON challenges (expires_at);
CREATE INDEX challenges_account ON challenges (network, address, issued_at);
