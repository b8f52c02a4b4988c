-- the table on every shard
CREATE TABLE members (
  member text PRIMARY KEY, -- the key that the map places
  about text NOT NULL
);
