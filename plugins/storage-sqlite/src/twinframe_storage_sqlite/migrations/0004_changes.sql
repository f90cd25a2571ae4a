-- What each event changed, so that a reader finds the changed entities without reading bodies, and
-- the earlier documents of an entity without reading other events.

ALTER TABLE event ADD COLUMN kind INTEGER;  -- `ChangeKind`; NULL: stored before there were kinds
ALTER TABLE event ADD COLUMN relationship TEXT NOT NULL DEFAULT '';

-- The events that replaced or deleted a document. New entities, such as those of an import, have
-- none, and cost this index nothing.
CREATE INDEX event_replacement ON event (subject, relationship) WHERE kind IN (2, 3, 5, 6);
