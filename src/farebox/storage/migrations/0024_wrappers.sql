SET LOCAL lock_timeout = '5s';

-- Names in the URLs of the gateway. A row is never deleted: a slug belongs to its first owner.
CREATE TABLE wrapper_slugs (
    slug text PRIMARY KEY CHECK (slug ~ '^[a-z0-9][a-z0-9-]{2,62}$'),
    owner text NOT NULL,
    taken_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

-- APIs of sellers behind the gateway.
CREATE TABLE wrappers (
    id text PRIMARY KEY,
    owner text NOT NULL,
    slug text NOT NULL UNIQUE REFERENCES wrapper_slugs (slug),
    settings jsonb NOT NULL,                              -- `WrapperSettings`
    secret_id text REFERENCES vault_secrets (id),         -- that of the settings
    client text,                                          -- as in the other tables with a quota
    is_established boolean NOT NULL,                      -- the owner, at the last change
    is_enabled boolean NOT NULL DEFAULT false,
    revision integer NOT NULL DEFAULT 1,                  -- counts the changes of the settings
    created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    updated_at timestamptz NOT NULL DEFAULT clock_timestamp()
);

CREATE INDEX wrappers_owner ON wrappers (owner, created_at DESC, id DESC);
CREATE INDEX wrappers_secret ON wrappers (secret_id) WHERE secret_id IS NOT NULL;
CREATE INDEX wrappers_client ON wrappers (client) WHERE client IS NOT NULL;
