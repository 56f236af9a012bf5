SET LOCAL lock_timeout = '5s';

-- The first key of a line of keys, each rotated to the next. A process of the version before leaves
-- it out: such a key begins a line of its own.
ALTER TABLE api_keys ADD COLUMN line text;

WITH RECURSIVE line AS (
    SELECT id, replaced_by, id AS first FROM api_keys AS key
    WHERE NOT EXISTS (SELECT FROM api_keys AS before
                      WHERE before.replaced_by = key.id AND before.owner = key.owner)
    UNION ALL
    SELECT next.id, next.replaced_by, line.first
    FROM line JOIN api_keys AS next ON next.id = line.replaced_by
)
UPDATE api_keys SET line = line.first FROM line WHERE line.id = api_keys.id;

CREATE INDEX api_keys_line ON api_keys (line);
CREATE INDEX api_keys_owner_end ON api_keys (owner, revoked_at);
