// A source that is there; no test compiles it.
