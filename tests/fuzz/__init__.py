"""A real API under the requests that Schemathesis makes of its OpenAPI document: `python -m tests.fuzz`.

`run` starts the service of `tests.chaos` without faults, and fills it for two owners: `ada`, whose key the requests
have, and `ben`, whose ids are among theirs. `hooks` runs in Schemathesis: it lets requests meet what is stored, and
adds checks. At the end nothing of ben's has changed, and what is stored is what was acknowledged.
"""

FOLDER_VARIABLE = "LENS_FUZZ_FOLDER"
SECRET = "bens-secret"
"""A word of every text of ben's."""
KEY = "bens-key-"
"""Begin of ben's idempotency keys, which a number follows."""
PREFIXES = {"selection_id": "sel"}
"""Parameters of paths, and the prefix of such an id."""
