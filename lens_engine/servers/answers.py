"""What a server answers, read with a bound: of bytes as they come, and of bytes as they are unpacked.

Parsed JSON takes up to 25 times its bytes (a list of empty objects). With the bound, one answer takes some 200 MiB at
most while it is parsed, and all answers under way some 64 MiB.
"""

import asyncio
import json
import zlib
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import httpx

from lens_engine.errors import EndpointError

MOST_BYTES = 8 << 20
"""Largest answer, unpacked (bytes). The largest that a server has reason to give is some 5 MiB: llama.cpp repeats eight
prompts of 128,000 tokens and lists 8,000 tokens."""

SMALL_BYTES = 1 << 20
"""Largest part of an answer that is read without waiting for other large answers (bytes)."""

LARGE_AT_ONCE = 4
"""Number of answers with more than `SMALL_BYTES` that are read at the same time."""

_REFUSAL_BYTES = 16 << 10
"""Largest part of an answer with another status than 200 that is read (bytes)."""

_PACKED = {"gzip", "x-gzip", "deflate"}


class AnswerReader:
    """Reads the bodies of answers on one event loop. The caller bounds the time."""

    def __init__(self, where: str) -> None:
        """
        Args:
            where: the server, for errors.
        """
        self._where = where
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)

    async def read(self, response: httpx.Response) -> bytes:
        """The body, unpacked; of another status than 200, the beginning, and nothing if that cannot be unpacked.

        Raises:
            EndpointError: it has more than `MOST_BYTES`, or is packed in a way that was not asked for.
        """
        packing = response.headers.get("Content-Encoding", "identity").strip().lower()
        if response.status_code != httpx.codes.OK:
            return await _read_refusal(response, packing)
        if packing not in _PACKED | {"identity", ""}:
            raise EndpointError(f"{self._where} packs its answers, which was not asked for", said=packing)
        raw = await self._collect(response.aiter_raw())
        return self._unpack(raw) if packing in _PACKED else raw

    def parse(self, body: bytes, path: str) -> Any:
        """The JSON object or array that is the body of the answer at `path`.

        Raises:
            EndpointError: it is something else.
        """
        try:
            found = json.loads(body)
        except (ValueError, RecursionError, MemoryError):  # lists in lists, 100,000 deep, are a RecursionError
            found = None
        if not found or not isinstance(found, dict | list):
            raise EndpointError(f"{self._where} answers {path} with something that is no JSON object")
        return found

    async def _collect(self, pieces: AsyncIterator[bytes]) -> bytes:
        """All pieces; those beyond a small answer wait until few other large answers are read."""
        found = bytearray()
        try:
            async for piece in pieces:
                found += piece
                if len(found) > SMALL_BYTES:
                    async with self._large:
                        async for more in pieces:
                            found += more
                            self._check_size(len(found))
            self._check_size(len(found))
            return bytes(found)
        finally:
            found.clear()  # a refusal holds this frame: each of many too long answers would stay

    def _unpack(self, raw: bytes) -> bytes:
        try:
            found = _decompress(raw, MOST_BYTES + 1)
        except zlib.error as error:
            raise EndpointError(f"{self._where} packs an answer that cannot be unpacked") from error
        self._check_size(len(found))
        return found

    def _check_size(self, size: int) -> None:
        if size > MOST_BYTES:
            raise EndpointError(f"{self._where} answers with more than {MOST_BYTES >> 20} MiB, which no answer needs")


async def _read_refusal(response: httpx.Response, packing: str) -> bytes:
    """What can be read of it: the status alone decides whether the server is asked again."""
    raw = bytearray()
    async for piece in response.aiter_raw():
        raw += piece
        if len(raw) >= _REFUSAL_BYTES:
            break
    if packing in _PACKED:
        with suppress(zlib.error):
            return _decompress(raw, _REFUSAL_BYTES)
    return bytes(raw[:_REFUSAL_BYTES]) if packing in ("identity", "") else b""


def _decompress(raw: bytes | bytearray, most: int) -> bytes:
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # gzip or zlib, by their first bytes
    return unpacker.decompress(raw, most)
