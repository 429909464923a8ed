# ruff: noqa: E501
"""What is read of each file, and what is said of it: bytes, rows, notes."""

import codecs
import gzip
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from dataset_uploads import WRITERS, write_jsonl
from written_shapes import LABELS, ROWS, array, label_studio, lines, xlsx, zipped

from lens_engine.errors import InvalidDataset
from lens_engine.files import (
    DatasetEmpty,
    Dialect,
    Named,
    ParsingLimits,
    UnsupportedDatasetFormat,
    parse_dataset,
    read_examples,
    read_texts,
)

OWN = ParsingLimits.of_own_files()
Pairs = Sequence[tuple[str, str]]
PLAIN = [(f"message {number}", LABELS[number % 3]) for number in range(60)]
LETTERS = "quotes are read as letters of the texts, because more lines have the columns of the header so"
LETTER = "Dear team,\nthank you,\nmany greetings,\nJim"
LOG = "".join(f'log line ""{number}"", of a build\n' for number in range(7_000))
GERMAN = [("Das Zimmer war schön; groß, hell", "gut"), ("Zu laut, 3|4 Nächte", "schlecht"), ("Naja…", "gut")]


def write(rows: Iterable[Sequence[object]], delimiter: str = ",", header: Sequence[str] = ("text", "label")) -> str:
    return "".join(f"{delimiter.join(map(str, row))}\n" for row in ([header, *rows] if header else rows))


def change(rows: Pairs, **texts: str) -> Pairs:
    """The rows, with other texts at some places (`at5`)."""
    places = {int(place[2:]): text for place, text in texts.items()}
    return [(places.get(number, text), label) for number, (text, label) in enumerate(rows)]


def table(header: str, *rows: str, times: int = 20) -> str:
    return "\n".join([header, *rows * times])


def numbered(header: str, row: str) -> str:
    return table(header, *(row.format(n=n, one="ab"[n % 2]) for n in range(20)), times=1)


def values(found: Sequence[object], **more: object) -> bytes:
    return lines([{"text": f"text {number}", "label": value, **more} for number, value in enumerate(found)])


def case(name: str, content: str | bytes, rows: Pairs, *notes: str, **options: Any) -> Any:
    """Options: `columns` and `dialect`, or `only` if there are no further notes."""
    return pytest.param(content.encode() if isinstance(content, str) else content, rows, notes, options, id=name)


QUOTED = change(PLAIN, **{f"at{n}": f'"{text}, please"' for n, (text, _) in enumerate(PLAIN)})
UNQUOTED = [(text.strip('"'), label) for text, label in QUOTED]
URGENT = change(PLAIN, **{f"at{n}": f'"Urgent" message {n}' for n in range(0, 60, 9)})
FIRST = [("a text", "a"), ("more", "b")]
DELIMITED = [
    case("mixed line ends", 'text,label\r\na,x\rb,y\n"c\r\nd",x', [("a", "x"), ("b", "y"), ("c\r\nd", "x")]),
    case("other columns", "id,label,note,text\n1,x,,a\n2,y,?,b\n", [("a", "x"), ("b", "y")],
         "columns other than text and label are not used: 'id', 'note'", only=True),
    case("blank rows", "text,label\n\na,x\n,\n  \nb,y\n\n", [("a", "x"), ("b", "y")],
         "4 blank rows were skipped and are not counted in row numbers", only=True),
    case("empty columns of a spreadsheet", "text,label,,\na,x,,\nb,y,,\n", [("a", "x"), ("b", "y")]),
    case("a mark", codecs.BOM_UTF8 + b"text,label\na,x\nb,y\n", [("a", "x"), ("b", "y")], only=True),
    case("a mark before JSON", codecs.BOM_UTF8 + write_jsonl(FIRST), FIRST, only=True),
    *[case(f"open quote, {delimiter!r}, {last!r}", write(change(PLAIN, at5='"message 5', at40=last), delimiter),
           change(PLAIN, at5='"message 5', at40=last), LETTERS)
      for delimiter in "\t,;|" for last in ('message 40"', "unclosed")],
    case("open quote far below", write([(f"{text} {'word ' * 20}", label) for text, label in change(PLAIN * 30, at1500='"a')], "\t"),
         [(f"{text} {'word ' * 20}", label) for text, label in change(PLAIN * 30, at1500='"a')], LETTERS),
    case("texts that begin with a quote", write(URGENT, "\t"), URGENT),
    case("texts of several lines", write([(f'"{LETTER} {text}"', label) for text, label in PLAIN]),
         [(f"{LETTER} {text}", label) for text, label in PLAIN], only=True),
    *[case("lines that look like rows", write(change(rows, at5='"first,billing\nsecond,account\nthird"')),
           change(clean, at5="first,billing\nsecond,account\nthird"),
           "1 row has a quoted text with lines that look like rows of their own; if a quote was left open there, close "
           "it (line 7)", only=True) for rows, clean in ((QUOTED, UNQUOTED), (PLAIN, PLAIN))],
    *[case("a bad quote costs one row", write([*QUOTED[:5], (written, "billing"), *QUOTED[5:]]), UNQUOTED, left_out, only=True)
      for written, left_out in (
          ('"he said "no", please"', "1 row with a quote in the wrong place left out (line 7)"),
          ('"he said\nwell "no" or\nyes, so"', "1 row with a quote in the wrong place left out (line 7)"),
          ('"he said "no"\nor so\nor so"', "1 row with a quote in the wrong place left out (line 7)"),
          (f'"{LOG}"', "1 row whose text is longer than 131,072 characters left out (line 7)"))],
    case("an open quote among quoted texts", write(change(PLAIN, at0='"Well, a"', at5='"message 5', at20='"Well, b"', at40='"Well, c"')),
         [row for row in change(PLAIN, at0="Well, a", at20="Well, b", at40="Well, c") if row != PLAIN[5]],
         "1 row with a quote in the wrong place left out (line 7)", only=True),
    case("the reading that loses the fewest lines", write(change(PLAIN, at2='"message 2', at5='"message 5', at8='"Well, yes"')),
         [*change(PLAIN, at2='"message 2', at5='"message 5')[:8], *change(PLAIN)[9:]], "1 row of another width"),
    case("quoted names where quotes are letters", write(change(PLAIN, at5='"message 5'), "\t", ('"text"', '"label"')),
         change(PLAIN, at5='"message 5'), LETTERS),
    *[case(f"whole lines in quotes, {delimiter}", "".join(f'"{line}"\n' for line in write([(f'""{text}, it said, """"so""""""', one) for text, one in PLAIN]).splitlines()),
           [(f'{text}, it said, "so"', one) for text, one in PLAIN],
           "each line is enclosed in quotes as a whole, which are no part of it", only=True, dialect=Dialect(delimiter=delimiter))
      for delimiter in (None, ",")],
    *[case(f"above: {above!r}, {delimiter!r}", above.replace(",,", 2 * delimiter) + "\n" + write([(n, *row) for n, row in enumerate(PLAIN)], delimiter, ("number", "text", "label")),
           PLAIN, f"the table begins in line {2 + above.count(chr(10))}")
      for delimiter in (",", ";", "\t")
      for above in ("Messages of May,,", "Messages of May", "Messages of May,,\nby hand,,\n,,", "# all, of May; CC0\n% 2")],
    *[case(f"comments without a header, {delimiter!r}", "# messages of May\n% by hand\n" + write([("#sunny", ""), *PLAIN], delimiter, ()),
           PLAIN, "1 row without a label kept aside (line 3)", columns=Named("column 1", "column 2")) for delimiter in ",\t"],
    case("a first row without a label", write([("a message of nobody", ""), *PLAIN], header=()), PLAIN,
         "1 row without a label kept aside (line 1)", columns=Named("column 1", "column 2")),
    *[case(f"delimiter {delimiter!r}", "".join(f'"{text}, {delimiter} so"{delimiter}{label}\n' for text, label in PLAIN),
           [(f"{text}, {delimiter} so", label) for text, label in PLAIN], dialect=Dialect(delimiter=delimiter))
      for delimiter in ("||", " +++ ", "@")],
    case("unquoted delimiters after a label", write([(label, f"{text}{', and so' * (n % 3)}") for n, (text, label) in enumerate(PLAIN)], header=("label", "text")),
         [(f"{text}{', and so' * (n % 3)}", label) for n, (text, label) in enumerate(PLAIN)],
         "delimiters within column 'text' are not quoted, and are read as its text", only=True),
    case("files that were joined", write(PLAIN) + write(PLAIN), [*PLAIN, *PLAIN], "1 row with the names of the columns left out", only=True),
    case("one bad byte", (write(GERMAN * 9).replace("; groß, hell", "").replace(", 3|4", "")).encode() + b"caf\xe9,gut\n",
         [(text.replace("; groß, hell", "").replace(", 3|4", ""), label) for text, label in GERMAN * 9],
         "1 row with bytes that are not UTF-8 left out (line 29)", only=True),
    case("encoding and delimiter are named", b"text,a;label\nbad\xff;x\nb;y\n", [("badÿ", "x"), ("b", "y")],
         columns=Named("text,a"), dialect=Dialect("latin-1", ";")),
    case("gaps of a tenth", write([*PLAIN[:9], ("unlabelled", ""), *PLAIN[9:18], ("", "x")]), PLAIN[:18],
         "1 row without a label kept aside (line 11)", "1 row without a text left out (line 21)", only=True),
    case("a tenth without a label", write([(text, label if n % 10 else "") for n, (text, label) in enumerate(PLAIN)]),
         [row for n, row in enumerate(PLAIN) if n % 10], "6 rows without a label kept aside (line 2, line 12, line 22,"),
    case("names by place and case", "Text,LABEL\nSunny,good\nRainy,bad\n", [("Sunny", "good"), ("Rainy", "bad")], columns=Named(None, "column 2")),
    case("two columns of texts", "title,body,label\nSunny,All day,good\n,Rain,bad\n", [("Sunny\nAll day", "good"), ("Rain", "bad")],
         columns=Named(("Title", "body"))),
    case("a far too long line", b"text,label\n" + (b"a,x\nb,y\n" * 5).ljust(2**22 - 12, b"c") + b"\nd,x\ne,y\n",
         [("a", "x"), ("b", "y")] * 5 + [("d", "x"), ("e", "y")], "1 row far too long left out (line 12)"),
]  # fmt: skip
"""Delimiters, quotes, headers."""

LOOK_ALIKES = [
    ("Kommentar;Note", ("Der Film war gut;3,5", "Der Film war lang;1,5"), ("Der Film war gut", "3,5")),
    ("text;label", ("ein Text;Haus,Garten", "noch ein Text;Reise,Auto"), ("ein Text", "Haus,Garten")),
    ("text\tclass", ("paid 1,000 dollars\tneg", "paid 2,000 dollars\tpos"), ("paid 1,000 dollars", "neg")),
    ("text,label", ('"Good, but, late",Home|Kitchen', '"Bad, too",Home|Garden'), ("Good, but, late", "Home|Kitchen")),
    ("sentence\tlabel", ("it was late;I left\tneg", "it was fine;I stayed\tpos"), ("it was late;I left", "neg")),
    ("#tag\ttopic", ("#nowplaying a song\tmusic", "#goal of the day\tsport"), ("#nowplaying a song", "music")),
    ("#now a song of ours;pos", ("#bad day at work;neg", "#now a good day;pos"), ("#now a song of ours", "pos")),
    ("tekst,label", ("fine as it is,pos", "{{1}},neg", "{{'x'}},neg"), ("fine as it is", "pos")),
    ('"Great phone" I say,pos', ('"No" they said,neg', '"Fine" for me,pos'), ('"Great phone" I say', "pos")),
    ("code,label", ('"    def f():",neg', '"    return 1",pos'), ("    def f():", "neg")),
    ("comments,pos", ("not a good day,neg", "a good day,pos"), ("not a good day", "neg")),
    ("a rare text here,pos", ("not a good day,neg", "a good day,pos"), ("a rare text here", "pos")),
    ("part,sort,text", ("train,a,a text", "test,b,more"), ("a text", "a")),
    ("text,label,", ("a text,a", "more,b"), ("a text", "a")),
    ("text_id,remark,label", ("T1,a text,a", "T2,more,b"), ("a text", "a")),
    ("tweet,is_rude_language,lang", ("a text,yes,en", "more,no,fr"), ("a text", "yes")),
    ("tweet,is_retweet,stance", ("a text,true,a", "more,false,b"), ("a text", "a")),
    ("note,part,sort", ("a text,Train,a", "more,dev,b"), ("a text", "a")),
    ("Hotel,Kommentar,Etiqueta", ("x,a text,a", "y,more,b"), ("a text", "a")),
    ("Utterance,Speaker,Emotion,Season", ("a text,Ann,a,1", "more,Bob,b,2", "more,Ann,b,2"), ("a text", "a")),
    ("tweet_id,airline_sentiment,tweet", ("1,a,a text", "2,b,more"), ("a text", "a")),
    ("Text,text,label,Label", ("x,a text,a,y", "z,more,b,w"), ("a text", "a")),
    ("message,Category,class", ("a text,x,a", "more,y,b"), ("a text", "a")),
    ("v1,v2,,,", ('a,"a text",,,', 'b,"more",,,'), ("a text", "a")),
]  # fmt: skip
"""A header, rows, and what is read of the first."""
OBJECTS = [
    case("labels of a tracker", values([[{"name": "x", "color": "f00"}], {"name": "y"}] * 6), [(f"text {n}", "xy"[n % 2]) for n in range(12)]),
    *[case(f"label {value!r}", values([value] * 3), [(f"text {n}", label) for n in range(3)])
      for value, label in ((True, "true"), (1.0, "1"), (-7, "-7"), (["x"], "x"), ("['x']", "x"), ('["x"]', "x"), ("[x]", "[x]"),
                           ({"name": "x", "color": "f00"}, "x"), ('{"x": 1}', '{"x": 1}'), (10**19, str(10**19)), ("007", "007"))],
    *[case(f"labels {labels}", values(labels * 10), [(f"text {n}", labels[n % len(labels)]) for n in range(10 * len(labels))])
      for labels in (["user|login", "pay|bill", "x"], ["Sci/Tech", "Sports"], ["food, drinks", "rooms, beds"], ["Yes", "No", "Yes, definitely", "Yes, somewhat"])],
    *[case(f"label {empty}", values([empty, "x", "y"] * 4), [(f"text {n}", (empty, "x", "y")[n % 3]) for n in range(12)],
           f"{empty} is read as a label; if it marks rows without one, leave it empty") for empty in ("NA", "NULL", "\\N")],
    *[case(f"-1 beside {others}", values(["-1", *others] * 12), [(f"text {n}", ["-1", *others][n % (1 + len(others))]) for n in range(12 + 12 * len(others))],
           "-1 is read as a label; if it marks rows without one, leave it empty", only=True)
      for others in (["0", "1"], ["x", "y"])],
    case("other keys", b'{"id": 1, "text": "a", "label": "x"}\n{"text": "b", "meta": [{}], "id": 2, "label": "y"}\n', [("a", "x"), ("b", "y")],
         "columns other than text and label are not used: 'id', 'meta'", only=True),
    case("blank lines of JSON", b'\n \r\n{"text": "a\\ud83d\\ude42", "label": "x"}\r\n{"text": "b\xe2\x80\xa8c", "label": "y"}\n\n', [("a🙂", "x"), ("b\u2028c", "y")],
         "3 blank rows were skipped and are not counted in row numbers", only=True),
    case("phrases beside a text", lines([{"feedback": text, "label": one, "phrases": ["late order"]} for text, one in ROWS]), ROWS),
    case("nested names", lines([{"fields": {"note": text}, "meta": {"of.it": one, "id": n}} for n, (text, one) in enumerate(ROWS)]), ROWS,
         "read texts from 'fields.note' (the longest values, "),
    case("named nested values", lines([{"fields": {"note": text}, "meta": {"sort": one}} for text, one in ROWS]), ROWS, columns=Named("fields.note", "meta.sort")),
    case("a label beside a chat", lines([{"messages": [{"role": "user", "content": text}], "label": one} for text, one in ROWS]), ROWS),
    case("accepted answers of an eval", lines([{"input": [{"role": "user", "content": text}], "ideal": [one, "A"]} for text, one in ROWS]), ROWS),
    case("annotators differ", array([*label_studio(ROWS), {"data": {"text": "x"}, "annotations": [{"result": [{"value": {"choices": [one]}}]} for one in "ab"]},
                                     {"data": {"text": "y"}, "annotations": [{"was_cancelled": True, "result": [{"from_name": "topic", "value": {"choices": ["a"]}}]}]}]), ROWS,
         "1 row whose annotators gave different labels left out"),
    case("answers of Prodigy", lines([{"text": f"text {n}", "label": "x", "answer": ("accept", "reject", "ignore")[n % 3]} for n in range(12)]),
         [(f"text {n}", ("x", "not x")[n % 3]) for n in range(12) if n % 3 < 2], "4 rows whose answer is 'ignore' left out"),
    case("rows of Elasticsearch", json.dumps({"hits": {"hits": [{"_source": {"m": text, "t": one}} for text, one in ROWS]}}), ROWS),
    case("Watson", array({"name": "w", "entities": [{"x": 1}], "dialog_nodes": [{"title": "x"}] * 40,
                          "intents": [{"intent": one, "examples": [{"text": f"{one} {n}"} for n in range(5)]} for one in LABELS]}),
         [(f"{one} {n}", one) for one in LABELS for n in range(5)]),
    case("Snips", array({"entities": {"room": {"data": [{"value": "hall"}]}}, "intents": {
        one: {"utterances": [{"data": [{"text": f"{one} "}, {"text": str(n), "entity": "n"}]} for n in range(5)]} for one in LABELS}}),
         [(f"{one} {n}", one) for one in LABELS for n in range(5)]),
    case("words beside numbers", lines([{"text": f"text {n}", "label": n % 3, "labelText": "xyz"[n % 3]} for n in range(12)]),
         [(f"text {n}", "xyz"[n % 3]) for n in range(12)], "read labels from 'labelText'"),
    case("named numbers beside words", lines([{"text": f"text {n}", "label": n % 3, "label_text": "xyz"[n % 3]} for n in range(12)]),
         [(f"text {n}", str(n % 3)) for n in range(12)], columns=Named(None, "label")),
    case("two columns of texts are said", lines([{"premise": f"one text of {n}", "hypothesis": f"one more of {n}", "label": "ab"[n % 2]} for n in range(20)]),
         [(f"one text of {n}", "ab"[n % 2]) for n in range(20)],
         "more than one column holds texts; to join 'premise', 'hypothesis', name all of them (text_column)"),
    case("entities of Rasa", 'nlu:\n- intent: trip\n  examples: |\n    - to [Rome](city) by [train]{"entity": "by"}\n    - home\n', [("to Rome by train", "trip"), ("home", "trip")]),
    *[case(f"Rasa, {written!r}", f"stories:\n- story: way\n  steps:\n  - intent: trip\nnlu:\n- intent: trip\n  examples:\n  - {written}\n    metadata:\n      by: me\n  - home\n",
           [(text, "trip"), ("home", "trip")])
      for written, text in ((r'text: "a\"\nb"', 'a"\nb'), ("text: |-\n     a\n\n     b", "a\n\nb"), ("text: 'it''s'", "it's"))],
    case("Bot Framework", "> note\n\n# trip\n- to {@city=Rome} now\n# ? how\n- so\n# home\n- by foot\n", [("to Rome now", "trip"), ("by foot", "home")]),
    case("intents of YAML", "# mine\n\nall:\n- intent: trip\n  examples: [no, 12.30, to Rome]\n- intent: home\n  examples: [a]\n",
         [("no", "trip"), ("12.30", "trip"), ("to Rome", "trip"), ("a", "home")]),
    case("escapes of ARFF", "@relation r\n@attribute text string\n@attribute class {a,b}\n@data\n% no row\n'it\\'s, or C:\\new',a\n'x', b\n",
         [("it's, or C:\\new", "a"), ("x", "b")]),
    *[case(f"fastText, {bad!r}", "\n".join(f"__label__{one}, {text}" for text, one in ROWS) + f"\n{bad}", ROWS, "1 row without a label kept aside (line 31)")
      for bad in ("a line without a label", "__label__, no name")],
    case("the longer sheet with usual names", xlsx([("text", "label"), *FIRST * 3], [("date", "who")] * 90), FIRST * 3),
]  # fmt: skip
"""JSON, YAML, exports, and the values of labels."""


@pytest.mark.parametrize(("content", "rows", "notes", "options"), [*DELIMITED, *OBJECTS])
def test_file_gives_these_rows_and_notes(
    tmp_path: Path, content: bytes, rows: Pairs, notes: Sequence[str], options: dict[str, Any]
) -> None:
    (tmp_path / "upload").write_bytes(content)
    is_all = options.pop("only", False)
    found = parse_dataset(tmp_path / "upload", OWN, **options)
    options["only"] = is_all
    assert [(one.text, one.label) for one in found.examples] == rows
    assert all(any(note in warning for warning in found.warnings) for note in notes), found.warnings
    assert not is_all or len(found.warnings) == len(notes), found.warnings


def test_file_that_is_not_there_is_named_without_the_number_of_an_error(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataset) as refusal:
        read_examples(tmp_path / "none.csv")
    assert str(refusal.value) == f"{tmp_path / 'none.csv'} does not exist"


BY_VALUES = [
    ("Description,Issue Type,Comment,Comment", "a text {n},{one},c,d", ("a text 0", "a")),
    ("link,remark,label", "https://example.org/{n},a text {n},{one}", ("a text 0", "a")),
    ("link,sort,label", "https://example.org/{n},sort of {one},{one}", ("https://example.org/0", "a")),
    ("Description,remark,label", "Read the text,a text {n},{one}", ("a text 0", "a")),
    ("label,text", '{one},"Number {n} said, ""It was late."""', ('Number 0 said, "It was late."', "a")),
    ("hash,sort,note", f"{{n:064x}},{{one}},{'我的包裹还没有到' * 2}{{n}}号", (f"{'我的包裹还没有到' * 2}0号", "a")),
]
"""A header, a row with its number and label, and what is read of the first."""
TABLES = [(table(header, *rows), first) for header, rows, first in LOOK_ALIKES]


@pytest.mark.parametrize(("content", "first"), [*TABLES, *((numbered(*row), first) for *row, first in BY_VALUES)])
def test_table_is_read_as_what_it_is(tmp_path: Path, content: str, first: tuple[str, str]) -> None:
    (tmp_path / "rows").write_text(content)
    found = read_examples(tmp_path / "rows")[0]
    assert (found.text, found.label) == first


ANSWERS = [(str(number), ("yes", "no", "later")[number % 3]) for number in range(60)]
NOTE = "\n".join(["to do", *(f"ask {number},{answer}" for number, (_, answer) in enumerate(ANSWERS[:3])), "done"])
CHAT = [("hello", "thanks", "good morning", "bye then")[number % 4] for number in range(140)]
TEXTS = {
    **{
        f"{header}: {row}": ("\n".join([header, *(f"{n} {row}" for n in range(30))]), None)
        for header, row in (
            ("title", "How to cook rice | BBC Food"),
            ("tweet", "great ;)"),
            ("#subject of mine\tbody", "some text\tmore of it"),
            ("Was war gut?,", "Das Essen war gut,die Lage"),
        )
    },
    "sentences": ("\n".join(texts := [f"Well, number {n}, what{', then' * (n % 4)} is it?" for n in range(40)]), texts),
    "a chat": (
        "\n".join(["text", *CHAT[:70], '"Hi Anna\nhello\nthanks\nBye"', *CHAT[70:], ""]),
        [*CHAT[:70], "Hi Anna\nhello\nthanks\nBye", *CHAT[70:]],
    ),
    "a list": (
        write([*ANSWERS[:30], ("31", f'"{NOTE}"'), *ANSWERS[30:]], header=("id", "text")),
        [*(text for _, text in ANSWERS[:30]), NOTE, *(text for _, text in ANSWERS[30:])],
    ),
    "quotes of letters": ('text\tlabel\nx\tbilling\n"y\tbilling\nz\tbilling\n', ["x", '"y', "z"]),
    "one object": ('{"text": "Sunny", "tags": ["a", "b"], "spans": [{"start": 1}, {"start": 2}]}', ["Sunny"]),
}


@pytest.mark.parametrize("name", TEXTS)
def test_texts_alone_lose_no_row(tmp_path: Path, name: str) -> None:
    content, texts = TEXTS[name]
    (tmp_path / "rows").write_text(content)
    found = read_texts(tmp_path / "rows", OWN)
    assert [row.fault for row in found.rows] == [None] * (len(texts) if texts else 30)
    assert texts is None or [row.text for row in found.rows] == texts


CYRILLIC = "".join(
    f'{{"id": "order-{n}", "channel": "email", "text": "отмена заказа", "label": "cancel"}}\n' for n in range(40)
)
FLAGS = [f"some text {number},{number % 2},{number % 3 % 2},{number % 5 % 2}" for number in range(30)]
WRONG: list[tuple[str | bytes, str, str]] = [
    ("ID,Texts,Labels,channel\n1,a,x,web\n", "text_column", "no columns named 'text' and 'label'; columns found: 'ID', 'Texts', 'Labels', 'channel'; did you mean 'Texts' and 'Labels'? (text_column)"),
    ("texts,label\na,x\n", "text_column", "columns found: 'texts', 'label'"),
    ("text,class\na,x\n", "label_column", "columns found: 'text', 'class'"),
    ("text,label,text\na,x\n", "dataset.text", "the column 'text' is there more than once"),
    ("a,b,c,d,e,f,g,h,i,j,k,l\na,x\n", "text_column", "'j' and 2 more"),
    (f"{'x' * 60},label\na,x\n", "text_column", f"'{'x' * 40}…'"),
    ("te\0xt,label\na,x\n", "text_column", "'te\\x00xt'"),
    (f"{','.join('c' * 1_001)}\na,x\n", "dataset", "more than 1,000 columns"),
    (f"{'a,' * 300_000}\n{'b,' * 300_000}\n", "dataset", "more than 1,000 columns"),
    ('"text,label\na,x\nb,y\n', "dataset", "the header (line 1) opens a quote that is never closed"),
]  # fmt: skip
UNREAD: list[tuple[str | bytes, str, str]] = [
    *[(values(["billing", "delivery", f"billing{sign}urgent", f"delivery{sign}urgent"] * 10), "dataset.label", f"20 rows of 40 have several labels, such as 'billing{sign}urgent' in column 'label'. Lens gives a text one label")
      for sign in ("|", ", ")],
    ("body,toxic,insult,threat\n" + "\n".join(FLAGS), "dataset", "more than one column could hold the labels: 'toxic', 'insult', 'threat'; name the column"),
    (write([(f"some words {n}", "abc"[n % 3], "xy"[n % 2]) for n in range(12)], header=("note", "sort", "shop")), "dataset", "labels: 'sort', 'shop'; name the column to read (label_column)"),
    (write([(f"2026-11-0{n % 3 + 1}", f"a rather long message of its own {n}") for n in range(12)], header=("day", "message")), "dataset", "no column looks like labels"),
    ("\n".join(f"{('I', 'the', 'please')[n % 3]} wait => {'ab'[n % 2]}" for n in range(60)), "dataset.text", "the file has one column"),
    (table("user: where is it", "agent: here it is"), "dataset.text", "the file has one column"),
    (array({"dev": list(ROWS), "test": [["x", "y"]] * 4}), "dataset", "several lists in it may be the rows: 'dev' (30 rows), 'test' (4 rows)"),
    (array({"name": "x", "size": {"a": 1}}), "dataset", "no list of rows is found in it; keys found: 'name', 'size'"),
    ("{'note': 'Sunny'}\n" * 3, "dataset", "the file is not valid JSON: Expecting property name"),
    *[(f"nlu:\n- intent: trip\n  examples: {part}\n", "dataset", "the file is no valid YAML") for part in ("    - a\n  - b: [", "&a [x]\n  more: *a", "[" * 200 + "]" * 200)],
    (CYRILLIC.encode("cp1251"), "dataset", "not UTF-8, and seems not to have the Latin letters of Windows-1252; save it as UTF-8, or name its encoding (encoding), e.g. windows-1251"),
    (b"\xff\xfet\x00e", "dataset", "bytes that are not UTF-16"),
    ("text,label\nx".encode("utf-16")[:-1], "dataset", "bytes that are not UTF-16"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "field", "words"), [*WRONG, *UNREAD])
def test_file_is_refused_with_what_is_wrong(tmp_path: Path, content: str | bytes, field: str, words: str) -> None:
    (tmp_path / "rows").write_bytes(content.encode() if isinstance(content, str) else content)
    columns = Named("text", "label") if (content, field, words) in WRONG else Named()
    with pytest.raises(InvalidDataset) as refusal:
        parse_dataset(tmp_path / "rows", ParsingLimits(), columns=columns)
    assert words in str(refusal.value)
    assert (refusal.value.field, refusal.value.row) == (field, None)


@pytest.mark.parametrize(
    ("columns", "dialect", "content", "words"),
    [
        (Named("bodi", "kind"), Dialect(), "id,body,kind\n1,a text,x\n", "no column named 'bodi'; columns found: 'id', 'body', 'kind'"),
        (Named("a", "a"), Dialect(), "a,b\nx,y\n", "'a' cannot hold both texts and labels"),
        (Named(), Dialect(encoding="utf-8"), "text,categoría\na,b\n", "the header holds bytes that are not UTF-8 at 'categor"),
        (Named(), Dialect(delimiter=","), "text;label\na;b\n", "name the delimiter of the file, perhaps ';' (delimiter)"),
        (Named(), Dialect("utf-16"), "text,label\na,x\nb,y\n", "bytes that are not UTF-16"),
    ],
)  # fmt: skip
def test_wrong_name_is_refused(tmp_path: Path, columns: Named, dialect: Dialect, content: str, words: str) -> None:
    (tmp_path / "rows").write_bytes(content.encode("cp1252"))
    with pytest.raises(InvalidDataset) as refusal:
        parse_dataset(tmp_path / "rows", ParsingLimits(), columns=columns, dialect=dialect)
    assert words in str(refusal.value)


@pytest.mark.parametrize(
    ("content", "row", "line", "words"),
    [
        ('text,label\n"a",x\n"b,y\nc,x\n', 1, 3, "never closed (line 3, column 1, at '\"b,y\\nc,x')"),
        ('text,label\n"a",x\n"b"c,y\n', 1, 3, "wrong place (line 3, column 3, at '\"b\"c,y')"),
        ('text,label\na,x\n"b\n""d"" "e"f', 1, 3, "wrong place (line 4, column 7, at '"),
        ('text,label\n"a\n\nb",x\nb\n', 1, 5, "has 1 fields where the header has 2"),
        ("text,label\na,x\n\nb, c,y\n", 1, 4, "a line break in it; the row begins 'b, c,y'"),
        ('text,label\na,x\n"' + "b\n" * 70_000, 1, 3, "never closed"),
        ("text,label\na,x\n" + ",".join(["b" * 100_000] * 11), 1, 3, "far too long"),
        ("text,label\na,x\n" + ('"' + "b" * 60 + '\n",,') * 20_000, 1, 3, "far too long"),
        ("text,label\na,x\n\n,y\nb,y\nc,y\n", 1, 4, ": `text` is blank; write a text or delete the row"),
    ],
)
def test_bad_row_of_a_table_is_named(tmp_path: Path, content: str, row: int, line: int, words: str) -> None:
    (tmp_path / "rows").write_text(content)
    with pytest.raises(InvalidDataset) as refusal:
        parse_dataset(tmp_path / "rows", ParsingLimits())
    assert (refusal.value.row, f"line {line}" in str(refusal.value), words in str(refusal.value)) == (row, True, True)


@pytest.mark.parametrize(
    ("row", "column"), [(b"caf\xe9,x", "text"), (b"\xed\xa0\x80,x", "text"), (b"b,\xe9", "label"), (b"b\xe2\x82", None)]
)
def test_row_that_is_not_utf8_is_named(tmp_path: Path, row: bytes, column: str | None) -> None:
    (tmp_path / "rows").write_bytes("\ufefftext,label\n«éé»,x\n".encode() + row)
    with pytest.raises(InvalidDataset, match="line 3") as refusal:
        parse_dataset(tmp_path / "rows", ParsingLimits())
    assert (refusal.value.row, refusal.value.field) == (1, f"dataset.{column}" if column else "dataset")
    assert column is None or f"`{column}` holds bytes that are not UTF-8 at '" in str(refusal.value)


TABLE = b"text,label\na,x\nb,y\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (gzip.compress(TABLE, mtime=0), "compressed with gzip"),
        (zipped({"data.csv": TABLE.decode()}), "compressed with zip"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Excel file"),
        (b"%PDF-1.7", "a PDF file"),
        (b"<?xml version='1.0'?><rows><row>a</row></rows>", "HTML or XML"),
        (b"<!DOCTYPE html><table></table>", "HTML or XML"),
        (b"SQLite format 3\0" + bytes(20), "the file is not text"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "the file is not text"),
        (Random(4).randbytes(5000), "the file is not text"),
        (TABLE.decode().replace("a", "é").encode("utf-32-le"), "name the encoding of a text (encoding), e.g. utf-16"),
        *[(magic, "save it as CSV or JSONL") for magic in (b"PAR1", b"ARROW1\0\0", b"\xff\xff\xff\xff\x10")],
    ],
)
def test_other_format_is_refused_as_unsupported(tmp_path: Path, content: bytes, words: str) -> None:
    (tmp_path / "upload").write_bytes(content)
    with pytest.raises(UnsupportedDatasetFormat) as refusal:
        parse_dataset(tmp_path / "upload", ParsingLimits())
    assert (refusal.value.code, words in str(refusal.value)) == ("unsupported-media-type", True)


@pytest.mark.parametrize("content", [b"", codecs.BOM_UTF8, b"\n", b" \r\n\t\n", b"\n" * 70_000])
def test_file_with_nothing_in_it_is_refused_as_empty(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "upload").write_bytes(content)
    with pytest.raises(DatasetEmpty):
        parse_dataset(tmp_path / "upload", ParsingLimits())


@pytest.mark.parametrize("written_as", sorted(WRITERS))
def test_file_name_decides_nothing(tmp_path: Path, written_as: str) -> None:
    for name in ("data.csv", "data.jsonl", "data.parquet", "data.gz", "data"):
        (tmp_path / name).write_bytes(WRITERS[written_as](FIRST))
        assert parse_dataset(tmp_path / name, OWN).format == written_as
