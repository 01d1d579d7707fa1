"""Data sets: by name, from the user's files, or synthetic; inputs stay on their own scale."""

from typing import TYPE_CHECKING

from wassermix.core.lazy import lazy_names

if TYPE_CHECKING:
    from wassermix.data.dataset import Dataset, split_statistics
    from wassermix.data.folder import FolderSplit
    from wassermix.data.gaussians import gaussian_means
    from wassermix.data.load import load_data
    from wassermix.data.locate import cache_folder, data_folders
    from wassermix.data.protocol import Split
    from wassermix.data.registry import DATA
    from wassermix.data.splits import SubsetSplit, TensorSplit, batches

__all__ = [
    "DATA",
    "Dataset",
    "FolderSplit",
    "Split",
    "SubsetSplit",
    "TensorSplit",
    "batches",
    "cache_folder",
    "data_folders",
    "gaussian_means",
    "load_data",
    "split_statistics",
]

__getattr__ = lazy_names(__name__)
