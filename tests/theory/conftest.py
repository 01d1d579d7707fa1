"""One small run of the study, for all who look at its record."""

from __future__ import annotations

from typing import Any

import pytest

from wassermix.theory import study


@pytest.fixture(scope="session")
def record(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(study, "SAMPLES", 20_000)
        return study.run(tmp_path_factory.mktemp("theory"), lambda what, share: None)
