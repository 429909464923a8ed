"""Small files with the quirks of public datasets, written from their descriptions."""

import json
from collections.abc import Callable, Sequence

Rows = Sequence[tuple[str, str]]

QUIRKS: dict[str, tuple[Callable[[Rows], str], Sequence[str]]] = {
    "AG News": (
        lambda rows: "".join(f'"{n % 3}","Title {n}","{text} (Reuters) ""now"""\n' for n, (text, _) in enumerate(rows)),
        "012",
    ),
    "Sentiment140": (
        lambda rows: "".join(
            f'"{n % 2 * 4}","{10**9 + n}","Mon Apr 06 22:{n % 5}0:45 PDT 2009","NO_QUERY","u{n}","{text}"\n'
            for n, (text, _) in enumerate(rows)
        ),
        "04",
    ),
    "SMS spam": (
        lambda rows: "".join(f'{("ham", "spam")[n % 2]}\t"{text} {n}" he\n' for n, (text, _) in enumerate(rows)),
        ("ham", "spam"),
    ),
    "pipes": (
        lambda rows: "id|message|team\n" + "".join(f"{n}|{text}|{label}\n" for n, (text, label) in enumerate(rows)),
        (),
    ),
    "reviews": (
        lambda rows: "".join(
            json.dumps({"helpful": [2, 3], "reviewText": text, "overall": n % 5 + 1.0}) + "\n"
            for n, (text, _) in enumerate(rows)
        ),
        "12345",
    ),
    "empty columns": (lambda rows: "v1,v2,,,\r\n" + "".join(f'{label},"{text}",,,\r\n' for text, label in rows), ()),
    "survey": (
        lambda rows: (
            "Timestamp,How was it? Please explain.,Which team?\n"
            + "".join(f'2024/01/0{n % 9 + 1} 10:00,"{text}",{label}\n' for n, (text, label) in enumerate(rows))
        ),
        (),
    ),
    "rows of Elasticsearch": (
        lambda rows: json.dumps({"hits": {"hits": [{"_source": {"m": text, "t": one}} for text, one in rows]}}),
        (),
    ),
}
"""How each file is written, and its labels; none: those of the rows."""


def write_quirky(name: str, rows: Rows) -> bytes:
    return QUIRKS[name][0](rows).encode()
