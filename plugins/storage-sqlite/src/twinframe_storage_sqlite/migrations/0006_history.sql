-- The events are the history of the graph: what is needed to read an earlier state of it.

ALTER TABLE event ADD COLUMN moment INTEGER NOT NULL DEFAULT 0;  -- ns since 1970; never goes back
ALTER TABLE event ADD COLUMN target TEXT;   -- of a deleted relationship: the twin that it led to

-- All changes of twins and relationships, those of new ones included: the first change after a
-- position says whether the entity existed there.
DROP INDEX event_replacement;
CREATE INDEX event_entity ON event (subject, relationship) WHERE kind BETWEEN 1 AND 6;

-- What is no longer stored is found by its deletion: all of it, or that of one twin. Models change
-- so rarely that all their changes are read.
CREATE INDEX event_rare ON event (kind) WHERE kind IN (3, 6, 7, 8, 9);
CREATE INDEX event_deleted_source ON event (subject) WHERE kind = 6;
CREATE INDEX event_deleted_target ON event (target) WHERE kind = 6;

-- Earlier events do not have it all: states before the last of them cannot be read. That one gets
-- the moment of the upgrade, from which on its state is known.
UPDATE event SET moment = CAST(unixepoch('subsec') * 1000 AS INTEGER) * 1000000
WHERE position = (SELECT seq FROM sqlite_sequence WHERE name = 'event');
INSERT INTO entry (kind, key, body)
SELECT 'history', 'start', CAST(CAST(seq AS TEXT) AS BLOB) FROM sqlite_sequence
WHERE name = 'event' AND seq > 0;
