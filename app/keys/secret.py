"""The form of a key, and its hash.

A key is `lens_` and 64 hex digits, so that scanners for leaked secrets can find it (`lens_[0-9a-f]{64}`). The digits
are 256 random bits. SHA-256 is enough to store them: a slow hash protects passwords, which can be guessed. Nobody can
try 2**256 keys, however fast the hash is. A slow hash would only make each request slow.
"""

import hashlib
import re
import secrets

_FORM = re.compile(r"lens_[0-9a-f]{64}")
_PREFIX_CHARACTERS = 13


def make_secret() -> str:
    """Make a new key from the system's source of randomness."""
    return f"lens_{secrets.token_hex(32)}"


def has_form(key: str) -> bool:
    """Whether `key` can be a key of the database."""
    return _FORM.fullmatch(key) is not None


def prefix_of(key: str) -> str:
    """The beginning of a key, by which people recognise it: `lens_` and 8 hex digits. 224 bits stay secret."""
    return key[:_PREFIX_CHARACTERS]


def hash_key(key: str) -> str:
    """SHA-256 of a key (hex)."""
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).hexdigest()
