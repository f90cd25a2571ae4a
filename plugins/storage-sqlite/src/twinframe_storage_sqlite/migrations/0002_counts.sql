-- How many twins each interface has and how many relationships each name has, kept at each change,
-- so that counting them reads no twin and no relationship.

CREATE TABLE twin_count (
  model INTEGER PRIMARY KEY,                -- row id of the interface
  twins INTEGER NOT NULL
);
INSERT INTO twin_count (model, twins) SELECT model, count(*) FROM twin GROUP BY model;

CREATE TABLE relationship_count (
  name TEXT PRIMARY KEY,
  relationships INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO relationship_count (name, relationships)
SELECT name, count(*) FROM relationship GROUP BY name;

-- NOTE: an upsert that updates fires the triggers of an update alone.
CREATE TRIGGER twin_added AFTER INSERT ON twin BEGIN
  INSERT INTO twin_count (model, twins) VALUES (new.model, 1)
  ON CONFLICT (model) DO UPDATE SET twins = twins + 1;
END;
CREATE TRIGGER twin_removed AFTER DELETE ON twin BEGIN
  UPDATE twin_count SET twins = twins - 1 WHERE model = old.model;
  DELETE FROM twin_count WHERE model = old.model AND twins = 0;
END;
CREATE TRIGGER twin_changed AFTER UPDATE OF model ON twin WHEN new.model <> old.model BEGIN
  INSERT INTO twin_count (model, twins) VALUES (new.model, 1)
  ON CONFLICT (model) DO UPDATE SET twins = twins + 1;
  UPDATE twin_count SET twins = twins - 1 WHERE model = old.model;
  DELETE FROM twin_count WHERE model = old.model AND twins = 0;
END;

CREATE TRIGGER relationship_added AFTER INSERT ON relationship BEGIN
  INSERT INTO relationship_count (name, relationships) VALUES (new.name, 1)
  ON CONFLICT (name) DO UPDATE SET relationships = relationships + 1;
END;
CREATE TRIGGER relationship_removed AFTER DELETE ON relationship BEGIN
  UPDATE relationship_count SET relationships = relationships - 1 WHERE name = old.name;
  DELETE FROM relationship_count WHERE name = old.name AND relationships = 0;
END;
CREATE TRIGGER relationship_changed AFTER UPDATE OF name ON relationship
WHEN new.name <> old.name BEGIN
  INSERT INTO relationship_count (name, relationships) VALUES (new.name, 1)
  ON CONFLICT (name) DO UPDATE SET relationships = relationships + 1;
  UPDATE relationship_count SET relationships = relationships - 1 WHERE name = old.name;
  DELETE FROM relationship_count WHERE name = old.name AND relationships = 0;
END;
