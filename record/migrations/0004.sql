-- What each flow of an experiment of many hosts came to, a row each, whenever it
-- came in: the run may have ended by then.
CREATE TABLE flow (
	run      TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
	round    BIGINT NOT NULL,
	n        BIGINT NOT NULL,           -- of that round
	sender   TEXT NOT NULL,
	receiver TEXT NOT NULL,
	kind     TEXT NOT NULL,             -- transfer, rehearsal, diagnosis
	ended    BIGINT NOT NULL,           -- by the sender's clock
	seen     BIGINT NOT NULL,           -- kept here
	goodput  DOUBLE PRECISION NOT NULL, -- bit/s; 0: nothing was measured
	bytes    BIGINT NOT NULL,           -- that it moved
	error    TEXT NOT NULL,
	data     BYTEA NOT NULL,            -- all that the sender said, compressed JSON
	PRIMARY KEY (run, round, n, sender)
);
CREATE INDEX flow_path ON flow (sender, receiver, ended);
CREATE INDEX flow_ended ON flow (ended);

-- Where the goodput of a host or of a link of an experiment moved to another level.
CREATE TABLE shift (
	experiment TEXT NOT NULL,           -- its name
	kind       TEXT NOT NULL,           -- sends, receives, link
	sender     TEXT NOT NULL,           -- empty of a host that receives
	receiver   TEXT NOT NULL,           -- empty of a host that sends
	since      BIGINT NOT NULL,         -- the first run of the new level
	run        TEXT NOT NULL,           -- in which it was seen
	found      BIGINT NOT NULL,
	before     DOUBLE PRECISION NOT NULL, -- bit/s
	after      DOUBLE PRECISION NOT NULL,
	told       BIGINT NOT NULL,         -- to the webhook; 0: not yet
	PRIMARY KEY (experiment, kind, sender, receiver, since)
);
CREATE INDEX shift_run ON shift (run);

-- What each host of experiments of many was like when it was last looked at.
CREATE TABLE member (
	host TEXT PRIMARY KEY,
	run  TEXT NOT NULL,
	data BYTEA NOT NULL                 -- facts, compressed JSON
);
