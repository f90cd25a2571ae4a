-- What the service keeps for itself beside the graph: small documents by kind and key, and the
-- outbox: what happened, in the order of the commits.

CREATE TABLE entry (
  kind TEXT NOT NULL,
  key TEXT NOT NULL,
  body BLOB NOT NULL,
  PRIMARY KEY (kind, key)
) WITHOUT ROWID;

-- AUTOINCREMENT: a position that was given is not given again when the newest events are deleted.
CREATE TABLE event (
  position INTEGER PRIMARY KEY AUTOINCREMENT,
  subject TEXT NOT NULL,
  body BLOB NOT NULL,
  total INTEGER NOT NULL                    -- bytes in the file of this and all before it
);
