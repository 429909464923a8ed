"""Names that production reads: each has a version, which copies support examples, task and classifier of a result."""
