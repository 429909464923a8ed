"""The list of mechanisms that `make mutants` switches off fits the source and the tests."""

import re
from pathlib import Path

import pytest

from tests.mutants.__main__ import copy_repository, main
from tests.mutants.mechanisms import MUTATIONS
from tests.mutants.mutation import Mutation, StaleMutation
from tests.mutants.trial import Outcome, run_tests

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.mechanism)
def test_mutation_fits_the_source(mutation: Mutation) -> None:
    source = (ROOT / mutation.path).read_text()
    assert mutation.mutate(source) != source


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.mechanism)
def test_named_tests_exist(mutation: Mutation) -> None:
    assert mutation.tests
    for test in mutation.tests:
        path, _, name = test.partition("::")
        functions = re.findall(r"^def (test_\w+)", (ROOT / path).read_text(), re.MULTILINE)
        assert functions
        assert not name or name in functions, f"{path} has no {name}"


def test_mechanisms_have_different_names() -> None:
    assert len({mutation.mechanism for mutation in MUTATIONS}) == len(MUTATIONS)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [("absent", "x", "occurs 0 times"), ("1", "2", "occurs 2 times"), ("a = ", "a = (", "is no Python")],
)
def test_mutation_that_no_longer_fits_is_an_error(old: str, new: str, words: str) -> None:
    mutation = Mutation("m", "m.py", old, new, ())
    with pytest.raises(StaleMutation, match=words):
        mutation.mutate("a = 1\nb = 1\n")


@pytest.mark.parametrize(
    ("new", "outcome"), [("2", Outcome.FAILED), ("1 + 0", Outcome.PASSED)], ids=["noticed", "survived"]
)
def test_trial_tells_whether_a_test_noticed(tmp_path: Path, new: str, outcome: Outcome) -> None:
    (tmp_path / "one.py").write_text("VALUE = 1\n")
    (tmp_path / "test_one.py").write_text("import one\n\n\ndef test_value():\n    assert one.VALUE == 1\n")
    Mutation("m", "one.py", "= 1", f"= {new}", ("test_one.py",)).apply(tmp_path)

    trial = run_tests(tmp_path, ["test_one.py"])

    assert trial.outcome is outcome, trial.output
    assert trial.failed == (("test_one.py::test_value",) if outcome is Outcome.FAILED else ())


def test_run_without_a_test_says_nothing(tmp_path: Path) -> None:
    assert run_tests(tmp_path, ["absent.py"]).outcome is Outcome.BROKEN


def test_copy_has_the_sources_and_no_environment(tmp_path: Path) -> None:
    copy_repository(ROOT, tmp_path)
    assert (tmp_path / "app" / "main.py").is_file()
    assert not (tmp_path / ".venv").exists()


def test_word_that_chooses_nothing_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["nothing-like-it"]) == 2
    assert "no mechanism matches" in capsys.readouterr().out
