"""Names that production reads: each has versions, which copy support examples, task and classifier of a result. Runs
are not known here."""
