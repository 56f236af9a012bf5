SET LOCAL lock_timeout = '5s';

-- Secrets of sellers, sealed; the context that a sealed value opens in is its owner, purpose, id
-- and key version.
CREATE TABLE vault_secrets (
    id text PRIMARY KEY,
    owner text NOT NULL,
    name text NOT NULL,
    purpose text NOT NULL CHECK (purpose IN ('header', 'bearer', 'other')),
    key_version integer NOT NULL CHECK (key_version > 0),
    nonce bytea NOT NULL CHECK (octet_length(nonce) = 12),
    sealed bytea NOT NULL,                                -- ciphertext and tag
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp(),

    UNIQUE (owner, name),
    UNIQUE (key_version, nonce)                           -- a broken source of randomness is refused
);

CREATE INDEX vault_secrets_owner ON vault_secrets (owner, created_at DESC, id DESC);
