"""An upgrade under load, and a check that no client notices it: `python -m tests.chaos.upgrade --from REVISION`.

`releases` unpacks the old release. `cluster` runs API processes and workers of either release over the same Postgres
and Redis. The clients of `tests.chaos` use them meanwhile, and `traffic` says which of their requests may stay without
an answer. `reading` reads with the new release what the old one stored. `run` puts it together; `report` shows it.
"""
