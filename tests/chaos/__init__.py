"""The whole service under random faults, and a check of what must hold whatever happens: `python -m tests.chaos`.

`faults` is the table of faults. `nemesis` draws them from a seed and inflicts them on `service`: real Postgres, Redis,
API processes and workers. `client` uses the service over HTTP meanwhile, and notes in `history` what it got. `watch`
looks at the stores all the while, `verdict` at the end; `report` is printed.
"""
