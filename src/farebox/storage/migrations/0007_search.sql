SET LOCAL lock_timeout = '5s';

-- Names and tags keep every word ("The Who", "IT"); running text loses its stop words.
CREATE TEXT SEARCH DICTIONARY farebox_stem (TEMPLATE = snowball, Language = english);
CREATE TEXT SEARCH CONFIGURATION farebox_names (COPY = english);
ALTER TEXT SEARCH CONFIGURATION farebox_names
    ALTER MAPPING REPLACE english_stem WITH farebox_stem;
CREATE TEXT SEARCH CONFIGURATION farebox_text (COPY = english);

-- What of a listing is searched, one row a version of it. A search reads the versions that live; a
-- walk over pages reads those that lived when it began. No index knows when a version died: so its
-- death is written inside the row's own page and no index is touched.
CREATE TABLE search_documents (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    listing_id bigint NOT NULL,
    updated_at timestamptz NOT NULL,
    born xid8 NOT NULL DEFAULT pg_current_xact_id(),
    born_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    died xid8,                                     -- NULL = lives
    died_at timestamptz,
    payers integer NOT NULL,
    type text NOT NULL,
    network text NOT NULL,
    text_digest bytea NOT NULL CHECK (length(text_digest) = 16),  -- of the searched text
    hi tsvector NOT NULL,                          -- service name A; tags and tool name B
    tsv tsvector NOT NULL,                         -- the same, description C, parameters, address D

    CHECK ((died IS NULL) = (died_at IS NULL))
) WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02,
        autovacuum_analyze_scale_factor = 0.02);

ALTER TABLE search_documents
    ALTER COLUMN hi SET STATISTICS 1000,
    ALTER COLUMN tsv SET STATISTICS 1000,
    ALTER COLUMN hi SET STORAGE MAIN,
    ALTER COLUMN tsv SET STORAGE MAIN;

CREATE INDEX search_documents_listing ON search_documents (listing_id);
CREATE INDEX search_documents_freshest ON search_documents (updated_at DESC, listing_id);
CREATE INDEX search_documents_digest ON search_documents (text_digest);
-- without a list of entries still to be put in, which every search would read through
CREATE INDEX search_documents_hi ON search_documents USING gin (hi) WITH (fastupdate = off);
CREATE INDEX search_documents_tsv ON search_documents USING gin (tsv) WITH (fastupdate = off);

-- The versions that died, to be removed when no cursor can ask for them any more.
CREATE TABLE search_graves (
    document_id bigint PRIMARY KEY REFERENCES search_documents ON DELETE CASCADE,
    died_at timestamptz NOT NULL
);

CREATE INDEX search_graves_oldest ON search_graves (died_at);

-- What signs cursors, so that one replica takes another's. One row, made when first needed.
CREATE TABLE cursor_keys (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    secret bytea NOT NULL CHECK (length(secret) = 32)
);
