"""The life of a job: claimed, run, ended, swept. No HTTP comes in, and no model.

claims   which job is next, its attempt, its lease, and the fence of every write
endings  how an attempt ends, and what becomes of its job: the only writer of `failed`, and of its counters
results  what is stored of a run that ended
spec     what was asked, as it is stored
sweep    leases that ran out, jobs without an entry in the queue, and what is too old
"""
