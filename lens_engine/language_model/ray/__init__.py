"""One selection on several devices, by Ray."""
