SET LOCAL lock_timeout = '5s';

-- Personal keys; the key itself is shown once and kept as a digest.
CREATE TABLE api_keys (
    id text PRIMARY KEY,
    owner text NOT NULL,
    name text NOT NULL,
    prefix text NOT NULL,                                 -- enough of the key to tell it by
    digest bytea NOT NULL UNIQUE,                         -- SHA-256 of the key
    grants text[] NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    expires_at timestamptz,
    revoked_at timestamptz,                               -- ahead of now: works until then
    last_used_at timestamptz,
    replaced_by text                                      -- the id it was rotated to
);
CREATE INDEX api_keys_owner ON api_keys (owner, created_at DESC, id DESC);
