-- Secrets of sellers, sealed; the context that a sealed value opens in is its owner, purpose and id.
CREATE TABLE vault_secrets (
    id text PRIMARY KEY,
    owner text NOT NULL,
    name text NOT NULL,
    purpose text NOT NULL,
    key_version integer NOT NULL,
    nonce bytea NOT NULL,
    sealed bytea NOT NULL,                                -- ciphertext and tag
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (owner, name)
);
CREATE INDEX vault_secrets_version ON vault_secrets (key_version);
