-- How many relationships each name has between twins of which interfaces, in place of the number by
-- name alone: with the numbers of twins these are the degrees by which joins are ordered.

DROP TRIGGER relationship_added;
DROP TRIGGER relationship_removed;
DROP TRIGGER relationship_changed;
DROP TRIGGER twin_changed;
DROP TABLE relationship_count;

CREATE TABLE relationship_count (
  name TEXT NOT NULL,
  source_model INTEGER NOT NULL,            -- row ids of interfaces
  target_model INTEGER NOT NULL,
  relationships INTEGER NOT NULL,
  PRIMARY KEY (name, source_model, target_model)
) WITHOUT ROWID;
INSERT INTO relationship_count (name, source_model, target_model, relationships)
SELECT r.name, s.model, t.model, count(*) FROM relationship r
JOIN twin s ON s.id = r.source JOIN twin t ON t.id = r.target GROUP BY 1, 2, 3;

CREATE TRIGGER relationship_added AFTER INSERT ON relationship BEGIN
  INSERT INTO relationship_count (name, source_model, target_model, relationships)
  SELECT new.name, s.model, t.model, 1 FROM twin s CROSS JOIN twin t
  WHERE s.id = new.source AND t.id = new.target
  ON CONFLICT (name, source_model, target_model) DO UPDATE SET relationships = relationships + 1;
END;
CREATE TRIGGER relationship_removed AFTER DELETE ON relationship BEGIN
  UPDATE relationship_count SET relationships = relationships - 1
  WHERE name = old.name AND source_model = (SELECT model FROM twin WHERE id = old.source)
  AND target_model = (SELECT model FROM twin WHERE id = old.target);
  DELETE FROM relationship_count WHERE name = old.name AND relationships = 0;
END;
CREATE TRIGGER relationship_changed AFTER UPDATE OF name, target ON relationship
WHEN new.name <> old.name OR new.target <> old.target BEGIN
  INSERT INTO relationship_count (name, source_model, target_model, relationships)
  SELECT new.name, s.model, t.model, 1 FROM twin s CROSS JOIN twin t
  WHERE s.id = new.source AND t.id = new.target
  ON CONFLICT (name, source_model, target_model) DO UPDATE SET relationships = relationships + 1;
  UPDATE relationship_count SET relationships = relationships - 1
  WHERE name = old.name AND source_model = (SELECT model FROM twin WHERE id = old.source)
  AND target_model = (SELECT model FROM twin WHERE id = old.target);
  DELETE FROM relationship_count WHERE name = old.name AND relationships = 0;
END;
CREATE TRIGGER twin_changed AFTER UPDATE OF model ON twin WHEN new.model <> old.model BEGIN
  INSERT INTO twin_count (model, twins) VALUES (new.model, 1)
  ON CONFLICT (model) DO UPDATE SET twins = twins + 1;
  UPDATE twin_count SET twins = twins - 1 WHERE model = old.model;
  DELETE FROM twin_count WHERE model = old.model AND twins = 0;
  INSERT INTO relationship_count (name, source_model, target_model, relationships)
  SELECT r.name, s.model, t.model, count(*) FROM relationship r
  JOIN twin s ON s.id = r.source JOIN twin t ON t.id = r.target
  WHERE r.source = new.id OR r.target = new.id GROUP BY 1, 2, 3
  ON CONFLICT (name, source_model, target_model)
  DO UPDATE SET relationships = relationships + excluded.relationships;
  INSERT INTO relationship_count (name, source_model, target_model, relationships)
  SELECT r.name, iif(s.id = new.id, old.model, s.model), iif(t.id = new.id, old.model, t.model),
    -count(*)
  FROM relationship r JOIN twin s ON s.id = r.source JOIN twin t ON t.id = r.target
  WHERE r.source = new.id OR r.target = new.id GROUP BY 1, 2, 3
  ON CONFLICT (name, source_model, target_model)
  DO UPDATE SET relationships = relationships + excluded.relationships;
  DELETE FROM relationship_count WHERE relationships = 0;
END;
