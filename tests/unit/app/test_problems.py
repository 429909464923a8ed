"""Problem details."""

import pytest

import app.errors
import lens_engine.reading.errors
from app.errors import AppError
from app.problems import TITLES
from lens_engine.errors import LensError


def subclasses(kind: type) -> set[type]:
    return {kind}.union(*(subclasses(child) for child in kind.__subclasses__()))


@pytest.mark.parametrize("kind", [AppError, LensError])
def test_every_code_has_a_title(kind: type) -> None:
    modules = {app.errors.__name__, "lens_engine.errors", lens_engine.reading.errors.__name__}
    codes = {error.code for error in subclasses(kind) if error.__module__ in modules}  # type: ignore[attr-defined]
    assert codes - TITLES.keys() == set()
