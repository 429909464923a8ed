"""Names that production reads: versions with a copy of what a selection found. Runs are not known here."""
