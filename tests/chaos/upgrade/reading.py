"""Reads with the new release what was stored before the upgrade, and repeats requests of that time."""

from collections.abc import Iterator, Sequence

import httpx

from tests.chaos.history import Accepted, History
from tests.chaos.settings import key_of

_PARAMETER = "{selection_id}"
_PAGE = 20


def open_client(owner: str, address: str) -> httpx.Client:
    return httpx.Client(base_url=address, headers={"Authorization": f"Bearer {key_of(owner)}"}, timeout=30)


def read_everything(address: str, old: Sequence[Accepted], history: History) -> int:
    """Read each old selection by every route that reads one, and find it in the list of its owner. Number of reads."""
    num_reads = 0
    for owner in sorted({one.owner for one in old}):
        with open_client(owner, address) as client:
            paths = _find_paths(client)
            listed = set(_list_ids(client, history))
            for one in (one for one in old if one.owner == owner and not one.is_deleted):
                if one.id not in listed:
                    history.violate("I1", "the new release does not list an old selection", one.id)
                num_reads += sum(_read(client, path, one, history) for path in paths)
    return num_reads


def replay(address: str, old: Sequence[Accepted], history: History) -> int:
    """Repeat each POST from before the upgrade. The same key has the same selection. Number of POSTs."""
    kept = [one for one in old if not one.is_deleted]
    for one in kept:
        with open_client(one.owner, address) as client:
            answer = one.variant.post(client, one.key)
        if (answer.status_code, answer.json().get("id")) != (202, one.id):
            history.violate("I2", f"a replay got {answer.status_code}: {answer.text[:200]}", one.id)
    return len(kept)


def _find_paths(client: httpx.Client) -> list[str]:
    """Every GET route of one selection, so that a new route cannot be forgotten."""
    paths = client.get("/openapi.json").json()["paths"]
    return [path for path, methods in paths.items() if _PARAMETER in path and "get" in methods]


def _list_ids(client: httpx.Client, history: History) -> Iterator[str]:
    cursor: str | None = None
    while True:
        page = client.get("/selections", params={"limit": _PAGE, **({"cursor": cursor} if cursor else {})})
        if page.status_code != 200:
            history.violate("I1", f"the list got {page.status_code}: {page.text[:200]}")
            return
        yield from (item["id"] for item in page.json()["items"])
        cursor = page.json()["next"]
        if cursor is None:
            return


def _read(client: httpx.Client, path: str, one: Accepted, history: History) -> bool:
    allowed = {200} if one.status == "succeeded" else {200, 409}
    answer = client.get(path.replace(_PARAMETER, one.id))
    if answer.status_code not in allowed:
        detail = f"{path} of a selection that has {one.status} got {answer.status_code}: {answer.text[:200]}"
        history.violate("I1", detail, one.id)
    return True
