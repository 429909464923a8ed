"""The life of a selection: claimed, run, ended, swept. No HTTP."""
