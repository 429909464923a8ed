"""A real llama-server for tests, and the bundled model as it reads it.

    python -m tests.llama_server      # builds both into the cache folder, once

`program` builds llama.cpp's HTTP server, `weights` writes the bundled model in float32, `server` runs the one on the
other. The fixture `llama_server` of `tests/conftest.py` is a running server; it builds nothing, and skips without one.
"""
