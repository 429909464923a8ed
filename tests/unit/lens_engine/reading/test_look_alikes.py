"""Files that look like files of other shapes are read as what they are."""

import json
from pathlib import Path

import pytest
from written_shapes import lines, xlsx

from lens_engine.errors import InvalidDataset
from lens_engine.reading import ParsedDataset, ParsingLimits, parse_dataset, read_texts

OWN = ParsingLimits.of_own_files()


def read(tmp_path: Path, content: bytes) -> ParsedDataset:
    (tmp_path / "rows").write_bytes(content)
    return parse_dataset(tmp_path / "rows", OWN)


def table(header: str, *rows: str, times: int = 20) -> bytes:
    return "\n".join([header, *rows * times]).encode()


def numbered(header: str, row: str) -> bytes:
    return table(header, *(row.format(n=n, one="ab"[n % 2]) for n in range(20)), times=1)


@pytest.mark.parametrize(
    ("content", "first"),
    [
        (table("Kommentar;Note", "Der Film war gut;3,5", "Der Film war lang;1,5"), ("Der Film war gut", "3,5")),
        (table("text;label", "ein Text;Haus,Garten", "noch ein Text;Reise,Auto"), ("ein Text", "Haus,Garten")),
        (table("text\tclass", "paid 1,000 dollars\tneg", "paid 2,000 dollars\tpos"), ("paid 1,000 dollars", "neg")),
        (
            table("text,label", '"Good, but, late",Home|Kitchen', '"Bad, too",Home|Garden'),
            ("Good, but, late", "Home|Kitchen"),
        ),
        (
            table("sentence\tlabel", "it was late;I left\tneg", "it was fine;I stayed\tpos"),
            ("it was late;I left", "neg"),
        ),
        (table("#tag\ttopic", "#nowplaying a song\tmusic", "#goal of the day\tsport"), ("#nowplaying a song", "music")),
        (
            table("#now a song of ours;pos", "#bad day at work;neg", "#now a good day;pos"),
            ("#now a song of ours", "pos"),
        ),
        (table("tekst,label", "fine as it is,pos", "{{1}},neg", "{{'x'}},neg"), ("fine as it is", "pos")),
        (
            table("label,text", *(f'{"ab"[n % 2]},Number {n} said, "It was late."' for n in range(40)), times=1),
            ('Number 0 said, "It was late."', "a"),
        ),
        (table('"Great phone" I say,pos', '"No" they said,neg', '"Fine" for me,pos'), ('"Great phone" I say', "pos")),
        (table("code,label", '"    def f():",neg', '"    return 1",pos'), ("    def f():", "neg")),
        (table("comments,pos", "not a good day,neg", "a good day,pos"), ("not a good day", "neg")),
        (table("a rare text here,pos", "not a good day,neg", "a good day,pos"), ("a rare text here", "pos")),
        (
            lines(
                [
                    {"feedback": f"a long text, number {n}", "label": "ab"[n % 2], "phrases": ["late order"]}
                    for n in range(20)
                ]
            ),
            ("a long text, number 0", "a"),
        ),
        (
            json.dumps(
                [{"intent": one, "examples": [{"text": f"{one} {n}"} for n in range(9)]} for one in "ab"]
            ).encode(),
            ("a 0", "a"),
        ),
        (xlsx([("text", "label"), ("a text", "a"), ("more", "b")] * 3, [("date", "who")] * 90), ("a text", "a")),
        (table("part,sort,text", "train,a,a text", "test,b,more"), ("a text", "a")),
        (numbered("Description,Issue Type,Comment,Comment", "a text {n},{one},c,d"), ("a text 0", "a")),
        (table("text,label,", "a text,a", "more,b"), ("a text", "a")),
        (table("text_id,remark,label", "T1,a text,a", "T2,more,b"), ("a text", "a")),
        (numbered("link,remark,label", "https://example.org/{n},a text {n},{one}"), ("a text 0", "a")),
        (numbered("link,sort,label", "https://example.org/{n},sort of {one},{one}"), ("https://example.org/0", "a")),
        (numbered("Description,remark,label", "Read the text,a text {n},{one}"), ("a text 0", "a")),
        (table("Description,name,label", "ok,Ann,a", "ok,Bea,b", times=1), ("ok", "a")),
        (table("text,label", "a text,a", "--,--", "more,b", "--,--", times=1), ("a text", "a")),
        (table("text,label,,,", "a text,a,,,", "more,b,,,", "more,b,odd words of one,and,", times=1), ("a text", "a")),
        (table("tweet,is_rude_language,lang", "a text,yes,en", "more,no,fr"), ("a text", "yes")),
        (table("tweet,is_retweet,stance", "a text,true,a", "more,false,b"), ("a text", "a")),
        (table("text,a,b", "a text,1.0,0.0", "more,0.0,1.0"), ("a text", "a")),
        (table("text,a,b", "a text,X,", "more,,X"), ("a text", "a")),
        (lines([{"messages": [{"role": "user", "content": "a text"}], "label": one} for one in "ab"]), ("a text", "a")),
        (lines([{"text": f"a text {n}", "meta": {"of.it": "ab"[n % 2]}} for n in range(8)]), ("a text 0", "a")),
    ],
)
def test_table_is_read_as_what_it_is(tmp_path: Path, content: bytes, first: tuple[str, str]) -> None:
    found = read(tmp_path, content).examples[0]
    assert (found.text, found.label) == first


@pytest.mark.parametrize(
    ("header", "row"),
    [
        ("title", "How to cook rice | BBC Food"),
        ("tweet", "great ;)"),
        ("#subject of mine\tbody", "some text\tmore of it"),
        ("Was war gut?,", "Das Essen war gut,die Lage"),
    ],
)
def test_texts_alone_lose_no_row(tmp_path: Path, header: str, row: str) -> None:
    (tmp_path / "rows").write_bytes(table(header, *(f"{number} {row}" for number in range(30)), times=1))
    found = read_texts(tmp_path / "rows", OWN)
    assert [one.fault for one in found.rows] == [None] * 30


@pytest.mark.parametrize("between", [" => ", "@@@"])
def test_first_words_of_sentences_are_no_labels(tmp_path: Path, between: str) -> None:
    rows = [f"{('I', 'the', 'please')[number % 3]} wait{between}{'ab'[number % 2]}" for number in range(60)]
    with pytest.raises(InvalidDataset, match="the file has one column"):
        read(tmp_path, "\n".join(rows).encode())


def test_words_of_a_chat_are_no_labels(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataset, match="the file has one column"):
        read(tmp_path, table("user: where is it", "agent: here it is"))


def test_first_accepted_answer_of_an_eval_is_the_label(tmp_path: Path) -> None:
    rows = [{"input": [{"role": "user", "content": f"text {n}"}], "ideal": ["ab"[n % 2], "A"]} for n in range(20)]
    assert {one.label for one in read(tmp_path, lines(rows)).examples} == {"a", "b"}


def test_quoted_title_is_refused_as_such(tmp_path: Path) -> None:
    with pytest.raises(InvalidDataset, match="quote"):
        read(tmp_path, table('"Survey" results 2024\ntext,label', "a text,a", "more,b"))
