"""Names that production reads: versions with a copy of what a selection found, and routes that both share."""
