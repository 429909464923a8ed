"""The demonstration: the whole service on this machine, and one selection through its front door."""
