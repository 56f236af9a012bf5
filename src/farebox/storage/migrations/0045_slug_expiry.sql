SET LOCAL lock_timeout = '5s';

-- A slug is held while a wrapper has it, and for a time after the wrapper was deleted; one under
-- which nothing was ever enabled is free at once. Until now slugs were held for ever: those without
-- a wrapper expire from now on.
ALTER TABLE wrapper_slugs
    ADD COLUMN enabled_at timestamptz,      -- when a wrapper was first enabled under it
    ADD COLUMN released_at timestamptz,     -- when its wrapper was deleted
    ADD COLUMN client text;                 -- as in the other tables with a quota

UPDATE wrapper_slugs s
SET enabled_at = s.taken_at,                -- as far as is known
    released_at = CASE WHEN w.id IS NULL THEN clock_timestamp() END,
    client = w.client
FROM wrapper_slugs held LEFT JOIN wrappers w ON w.slug = held.slug
WHERE held.slug = s.slug;

CREATE INDEX wrapper_slugs_owner ON wrapper_slugs (owner);
CREATE INDEX wrapper_slugs_client ON wrapper_slugs (client) WHERE client IS NOT NULL;
CREATE INDEX wrapper_slugs_released ON wrapper_slugs (released_at) WHERE released_at IS NOT NULL;
CREATE INDEX wrapper_slugs_drafts ON wrapper_slugs (taken_at) WHERE enabled_at IS NULL;
