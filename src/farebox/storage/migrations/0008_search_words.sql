SET LOCAL lock_timeout = '5s';

CREATE EXTENSION IF NOT EXISTS pg_trgm;

-- Texts of listings whose words and meaning are still to be read, by whichever replica comes first.
-- Written with the listing; two listings of one text, or a text that came back, may stand twice.
CREATE TABLE search_texts_waiting (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    text_digest bytea NOT NULL CHECK (length(text_digest) = 16),  -- as in search_documents
    text text NOT NULL,
    has_words boolean NOT NULL DEFAULT false,      -- its words were read: only its meaning is wanting
    taken_until timestamptz NOT NULL DEFAULT '-infinity'
);

CREATE INDEX search_texts_waiting_words ON search_texts_waiting (id) WHERE NOT has_words;

-- What a text means, by the language model. Kept by the text, so that a change of anything else
-- computes nothing again.
CREATE TABLE search_vectors (
    text_digest bytea PRIMARY KEY CHECK (length(text_digest) = 16),
    bucket smallint NOT NULL,                      -- the nearest of the fixed points of the space
    signature bit(384) NOT NULL,                   -- on which side of zero it lies, axis by axis
    vector bytea NOT NULL CHECK (length(vector) = 384),  -- signed bytes; its length says nothing
    born xid8 NOT NULL DEFAULT pg_current_xact_id(),  -- as of a document's version
    born_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    used_at timestamptz NOT NULL DEFAULT now()     -- when a listing last came with the text
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.02,
        autovacuum_vacuum_insert_scale_factor = 0.02);

ALTER TABLE search_vectors
    ALTER COLUMN bucket SET STATISTICS 2000,       -- the share of each bucket is what plans a search
    ALTER COLUMN signature SET STATISTICS 0,
    ALTER COLUMN vector SET STATISTICS 0,
    ALTER COLUMN vector SET STORAGE MAIN;

-- Everything a search looks at before it has chosen its few hundred.
CREATE INDEX search_vectors_bucket ON search_vectors (bucket)
    INCLUDE (signature, text_digest, born, born_at);

-- The words of the catalog as they are written, to put a mistyped one right.
CREATE TABLE search_words (
    word text PRIMARY KEY,
    stem text NOT NULL,
    texts integer NOT NULL                         -- how many had it, counted up to a bound
) WITH (fillfactor = 80);

CREATE INDEX search_words_stem ON search_words (stem);
CREATE INDEX search_words_alike ON search_words USING gin (word gin_trgm_ops);
