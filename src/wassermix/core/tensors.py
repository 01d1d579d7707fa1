"""Named tensors on disk: safetensors files whose bytes depend on nothing but their content."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from torch import Tensor

from wassermix.core.files import write_beside

__all__ = ["write_tensors"]

ALIGNMENT = 8  # bytes: where the tensors may begin


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str]) -> None:
    """Write ``tensors`` and text ``metadata`` as safetensors, atomically.

    Equal content gives equal bytes: safetensors itself writes metadata in random order, so the header is made
    here, with sorted keys.
    """
    from safetensors.torch import save

    content = save(_apart(tensors))
    length = int.from_bytes(content[:8], "little")
    header = {"__metadata__": dict(sorted(metadata.items())), **json.loads(content[8 : 8 + length])}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    parts = (len(text).to_bytes(8, "little"), text, memoryview(content)[8 + length :])

    def write(beside: Path) -> None:
        with beside.open("wb") as file:
            for part in parts:
                file.write(part)

    write_beside(path, write)


def _apart(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The tensors in this computer's memory, no two in the same place: safetensors refuses tied ones."""
    places: set[int] = set()
    found = {}
    for name, tensor in tensors.items():
        own = tensor.detach().cpu().contiguous()
        place = own.untyped_storage().data_ptr()
        found[name] = own.clone() if place in places else own
        places.add(place)
    return found
