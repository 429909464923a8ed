"""What the library offers is there."""

import pytest

import lens_engine


@pytest.mark.parametrize("name", lens_engine.__all__)
def test_public_name_can_be_imported(name: str) -> None:
    found = getattr(lens_engine, name)
    assert getattr(found, "__name__", name) == name
