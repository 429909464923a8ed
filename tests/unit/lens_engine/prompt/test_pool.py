import pickle
from pathlib import Path

import pytest
from pydantic import ValidationError

from lens_engine.prompt.embedder import open_embedder
from lens_engine.prompt.pool import FormKind, Pool, PoolRow, PromptForm, Retrieval
from lens_engine.types import Example
from tests.unit.lens_engine.prompt.folders import SIMILAR, VECTORS, write_static

EXAMPLES = (
    Example(12, "where is my parcel", "delivery"),
    Example(3, "a good film", "films"),
    Example(7, "the parcel is late", "delivery"),
    Example(5, "a bad film", "films"),
)
POOL = Pool.of(EXAMPLES)
EIGHT = PromptForm(kind="nearest", nearest=8)


def test_pool_has_its_rows_in_the_order_of_their_numbers() -> None:
    assert [row.row for row in POOL.rows] == [3, 5, 7, 12]
    assert POOL.rows[0] == PoolRow(row=3, text="a good film", label="films")


@pytest.mark.parametrize("rows", [(3, 2), (2, 2)])
def test_pool_with_rows_out_of_order_is_refused(rows: tuple[int, int]) -> None:
    with pytest.raises(ValidationError, match=f"row {rows[1]} comes after row {rows[0]}; give each row once"):
        Pool(rows=tuple(PoolRow(row=row, text="so", label="a") for row in rows))


def test_nearest_rows_come_last_and_say_how_similar_they_are() -> None:
    found = Retrieval(form=PromptForm(kind="nearest", nearest=2), pool=POOL).demonstrations(["my parcel is late"], ())

    assert [[one.example for one in demonstrations] for demonstrations in found] == [[EXAMPLES[0], EXAMPLES[2]]]
    assert 0 < found[0][0].similarity < found[0][1].similarity < 1


def test_fixed_demonstrations_are_not_found_again() -> None:
    form = PromptForm(kind="fixed+nearest", nearest=2)
    found = Retrieval(form=form, pool=POOL).demonstrations(["my parcel is late"], (EXAMPLES[2].row, 99))

    assert [one.example.row for one in found[0]] == [3, 12]


def test_fixed_form_finds_nothing() -> None:
    assert Retrieval(form=PromptForm(), pool=POOL).demonstrations(["a film", "so"], [one.row for one in EXAMPLES]) == [
        [],
        [],
    ]


def test_retrieval_survives_json() -> None:
    retrieval = Retrieval(form=EIGHT, pool=POOL)
    before = retrieval.demonstrations(["a film"], ())

    restored = Retrieval.model_validate_json(retrieval.model_dump_json())

    assert restored == retrieval
    assert restored.demonstrations(["a film"], ()) == before


def test_changed_copy_has_an_index_of_its_own() -> None:
    assert len(POOL.index.nearest(["a film"], 8)[0]) == 4

    shorter = POOL.model_copy(update={"rows": POOL.rows[:1]})

    found = Retrieval(form=EIGHT, pool=shorter).demonstrations(["a film"], ())
    assert [one.example.row for one in found[0]] == [3]


def test_index_stays_in_the_process_that_made_it() -> None:
    assert len(POOL.index.nearest(["a film"], 8)[0]) == 4

    found = pickle.loads(pickle.dumps(POOL))

    assert (found, "index" in found.__dict__) == (POOL, False)


@pytest.mark.parametrize(
    ("kind", "nearest", "name"),
    [("fixed", 0, "fixed"), ("nearest", 8, "nearest 8"), ("fixed+nearest", 4, "fixed+nearest 4")],
)
def test_form_has_a_name(kind: FormKind, nearest: int, name: str) -> None:
    assert PromptForm(kind=kind, nearest=nearest).name == name


@pytest.mark.parametrize(
    ("kind", "nearest", "complaint"),
    [
        ("fixed", 8, "a fixed form finds no rows, and nearest is 8"),
        ("nearest", 0, "the form nearest finds rows for each input; set nearest to 1 or more"),
        ("fixed+nearest", 0, r"the form fixed\+nearest finds rows for each input; set nearest"),
        ("nearest", -1, "greater than or equal to 0"),
    ],
)
def test_form_with_a_wrong_number_is_refused(kind: FormKind, nearest: int, complaint: str) -> None:
    with pytest.raises(ValidationError, match=complaint):
        PromptForm(kind=kind, nearest=nearest)


def test_nearest_rows_by_embeddings_need_no_common_word(tmp_path: Path) -> None:
    record = open_embedder(str(write_static(tmp_path / "own", VECTORS | SIMILAR))).record
    twice = (Example(20, "good film", "films"), Example(21, "good film!", "films"))
    pool = Pool.of((*EXAMPLES, *twice))
    form = PromptForm(kind="nearest", nearest=6, embedder=record)
    retrieval = Retrieval.model_validate_json(Retrieval(form=form, pool=pool).model_dump_json())

    movie, package = ([one.example.row for one in found] for found in retrieval.demonstrations(["movie", "package"]))

    assert movie[::-1] == [5, 3, 20, 21, 7, 12]  # a film: cosine 1; a good film thrice, in order; late; parcel
    assert package[::-1][:2] == [12, 7]
    assert [one.similarity for one in retrieval.demonstrations(["movie"])[0]][:2] == [0.0, pytest.approx(0.0, abs=0.03)]
    assert [one.example.row for one in retrieval.demonstrations(["GOOD film"], [12])[0]][::-1] == [5, 3, 21, 7]
    assert list(retrieval.pool.indexes) == [record]
    assert retrieval.pool.index.nearest(["movie"], 1)[0][0].similarity == 0.0
    assert (form.name, form.similarity, EIGHT.similarity) == ("nearest 6 by embeddings", "embeddings", "words")
    assert EIGHT.model_dump() == {"kind": "nearest", "nearest": 8}
    with pytest.raises(ValidationError, match="a fixed form finds no rows, and has an embedder"):
        PromptForm(embedder=record)
