"""How fast and how exact scoring is, beside other ways to do the same work. Not installed; run from a checkout.

`make bench` runs all of it and writes docs/performance.md, `make bench-quick` a small part in minutes.
"""
