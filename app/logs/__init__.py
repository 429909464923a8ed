"""The log of every process of the service, and what may stand in it: ids, codes and numbers, never a client's text."""
