"""Libraries that tests build stay out of the user's cache."""

from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True, scope="session")
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("WARPLOOM_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield
