"""One selection on several devices, with Ray."""
