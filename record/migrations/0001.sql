-- Times are nanoseconds since 1970. One text for SQLite and PostgreSQL: SQLite
-- takes any name of a type, and keeps what it is given.
CREATE TABLE run (
	id       TEXT PRIMARY KEY,
	kind     TEXT NOT NULL,
	state    TEXT NOT NULL,
	started  BIGINT NOT NULL,
	ended    BIGINT NOT NULL,           -- 0: not yet
	seen     BIGINT NOT NULL,           -- when its process last wrote
	command  TEXT NOT NULL,             -- JSON
	version  TEXT NOT NULL,             -- of fullbore where it ran
	far      TEXT NOT NULL,             -- of fullbore at the far end
	scenario TEXT NOT NULL,
	sender   TEXT NOT NULL,
	receiver TEXT NOT NULL,
	goodput  DOUBLE PRECISION NOT NULL, -- bit/s
	verdict  TEXT NOT NULL,
	tags     TEXT NOT NULL,             -- JSON
	error    TEXT NOT NULL
);
CREATE INDEX run_started ON run (started);
CREATE INDEX run_path ON run (sender, receiver, started);
CREATE INDEX run_receiver ON run (receiver, started);

CREATE TABLE tag (
	run TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
	tag TEXT NOT NULL,
	PRIMARY KEY (tag, run)
);
CREATE INDEX tag_run ON tag (run);

-- What a run consists of, as compressed JSON: document, event, transfer (without
-- samples), host.
CREATE TABLE part (
	run  TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
	kind TEXT NOT NULL,
	n    BIGINT NOT NULL,               -- in their order
	data BYTEA NOT NULL,
	PRIMARY KEY (run, kind, n)
);

-- All samples of one stream as one end saw it, column by column.
CREATE TABLE series (
	run      TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
	transfer BIGINT NOT NULL,           -- n of its part
	side     TEXT NOT NULL,             -- near, far
	stream   BIGINT NOT NULL,           -- place among that end's streams
	data     BYTEA NOT NULL,
	PRIMARY KEY (run, transfer, side, stream)
);

-- What became different on a host: set by fullbore, or found so since the run
-- before.
CREATE TABLE change (
	run     TEXT NOT NULL REFERENCES run (id) ON DELETE CASCADE,
	n       BIGINT NOT NULL,
	host    TEXT NOT NULL,
	tunable TEXT NOT NULL,              -- of the catalogue, or "version" of the system
	old     TEXT NOT NULL,
	new     TEXT NOT NULL,
	who     TEXT NOT NULL,              -- tune, someone
	PRIMARY KEY (run, n)
);
CREATE INDEX change_host ON change (host);
