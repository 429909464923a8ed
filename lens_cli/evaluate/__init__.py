"""`lens evaluate`: how often what a selection found is right on labelled rows."""
