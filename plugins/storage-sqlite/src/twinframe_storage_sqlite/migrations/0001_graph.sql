-- The graph: interfaces and what they inherit, twins, relationships, and the file's own facts.

PRAGMA application_id = 1415006025;         -- "TWGI": a graph instance of twinframe

CREATE TABLE interface (
  id INTEGER PRIMARY KEY,
  dtmi TEXT NOT NULL UNIQUE,
  name TEXT NOT NULL,                       -- last segment of the DTMI
  position INTEGER UNIQUE,                  -- order of upload; NULL: no longer stored, only named
  document BLOB,                            -- JSONB, as display_name and description
  display_name BLOB,
  description BLOB,
  upload_time TEXT,
  decommissioned INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX interface_name ON interface (name);

CREATE TABLE interface_reference (
  referrer INTEGER NOT NULL REFERENCES interface (id),
  referenced INTEGER NOT NULL REFERENCES interface (id),
  kind INTEGER NOT NULL,                    -- 0 extends, 1 component
  PRIMARY KEY (referrer, referenced, kind)
) WITHOUT ROWID;
CREATE INDEX interface_referenced ON interface_reference (referenced);

CREATE TABLE interface_closure (            -- extends, transitive and reflexive
  ancestor INTEGER NOT NULL REFERENCES interface (id),
  descendant INTEGER NOT NULL REFERENCES interface (id),
  PRIMARY KEY (ancestor, descendant)
) WITHOUT ROWID;
CREATE INDEX interface_ancestors ON interface_closure (descendant, ancestor);

CREATE TABLE twin (
  id INTEGER PRIMARY KEY,
  dt_id TEXT NOT NULL UNIQUE,
  model INTEGER NOT NULL REFERENCES interface (id),
  etag TEXT NOT NULL,
  document BLOB NOT NULL                    -- JSONB
);
CREATE INDEX twin_model ON twin (model);

CREATE TABLE relationship (
  id INTEGER PRIMARY KEY,
  source INTEGER NOT NULL REFERENCES twin (id),
  relationship_id TEXT NOT NULL,
  name TEXT NOT NULL,
  target INTEGER NOT NULL REFERENCES twin (id),
  etag TEXT NOT NULL,
  document BLOB NOT NULL,                   -- JSONB
  UNIQUE (source, relationship_id)
);
CREATE INDEX relationship_out ON relationship (source, name, target);
CREATE INDEX relationship_in ON relationship (target, name, source);

CREATE TABLE meta (                         -- instance, secret, created, model_version, last_position
  key TEXT PRIMARY KEY,
  value
) WITHOUT ROWID;
