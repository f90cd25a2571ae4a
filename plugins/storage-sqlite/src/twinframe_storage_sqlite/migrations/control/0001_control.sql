-- The control plane's records: the file's own facts. A kind of record has a table of its own, made
-- when the kind is first declared (control_tables.py).

PRAGMA application_id = 1415005004;         -- "TWCL": the control records of a twinframe

CREATE TABLE meta (                         -- instance, created, version
  key TEXT PRIMARY KEY,
  value
) WITHOUT ROWID;
