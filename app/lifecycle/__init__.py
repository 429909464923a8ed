"""The life of a job: claimed, run, ended, swept. No HTTP."""
