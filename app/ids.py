"""Opaque ids that sort by creation time, and page cursors made from ids."""

import base64
import binascii
import re
from datetime import datetime

from ulid import ULID

_ID = re.compile(r"[a-z]{2,3}_[0-9a-z]{26}")
SELECTION = "sel"
"""Prefix of the ids of selections."""
NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,99}")
"""Form of the name of a prompt. Ids and numbers have it too."""


def new_id(prefix: str) -> str:
    """Create an id: a prefix and a ULID in lower case, e.g. `sel_01jd…`."""
    return f"{prefix}_{str(ULID()).lower()}"


def first_id(prefix: str, moment: datetime) -> str:
    """Return the least id that can be created at `moment`. Every id that was created before is smaller."""
    milliseconds = int(moment.timestamp() * 1000)
    return f"{prefix}_{str(ULID.from_bytes(milliseconds.to_bytes(6, 'big') + bytes(10))).lower()}"


def is_id(value: str) -> bool:
    """Whether `value` has the form of an id. Other values need no look-up."""
    return _ID.fullmatch(value) is not None


def encode_cursor(last_id: str) -> str:
    return base64.urlsafe_b64encode(last_id.encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> str:
    """Return the id, number or name in a cursor of `encode_cursor`. Raises ValueError if the cursor is invalid."""
    try:
        decoded = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True).decode("ascii")
    except (binascii.Error, UnicodeError) as error:
        raise ValueError("not a cursor") from error
    if not NAME.fullmatch(decoded):
        raise ValueError("not a cursor")
    return decoded


def path_of(selection_id: str) -> str:
    """Path of a selection in the API."""
    return f"/selections/{selection_id}"
