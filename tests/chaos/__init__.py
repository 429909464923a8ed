"""The whole service under random faults, and a check of what must hold whatever happens: `python -m tests.chaos`.

`schedule` draws the faults from a seed. `faults` inflicts them on `service`: real Postgres, Redis, API processes and
workers, each behind its own `proxy` to each store. `clients` use the service over HTTP meanwhile, and keep a `history`.
`watch` looks at the stores all the while, `verdict` at the end, `report` shows what was found.
"""
