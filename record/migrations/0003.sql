-- Requests a second, of runs that make requests to a file.
ALTER TABLE run ADD COLUMN iops DOUBLE PRECISION NOT NULL DEFAULT 0;
