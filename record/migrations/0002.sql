-- The latest run of each path, verb and state is found without reading the others.
CREATE INDEX run_latest ON run (sender, receiver, scenario, kind, state, started);
