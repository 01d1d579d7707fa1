"""The layers of the package: which part may import which; a test enforces it, the docs show it."""

from __future__ import annotations

GROUND = "core"
"""Every part may import it, and it imports no other."""

LAYERS: dict[str, tuple[str, set[str]]] = {
    "core": ("what everyone stands on: errors, files, jobs, settings, registry, samples, intervals", set()),
    "transport": ("where mass goes: Sinkhorn, exact plans, maps, barycenters", set()),
    "embed": ("in which space to interpolate: pixels, PCA, VAE", set()),
    "models": ("networks, normalisation as the first layer, models of others", set()),
    "data": ("samples and labels from files and known data sets", set()),
    "recipes": ("shipped trainings as YAML", set()),
    "geodesic": (
        "what lies between: path, surface, worst place, smoothness, geometry",
        {"transport", "embed"},
    ),
    "theory": ("the Gaussian model in closed form", {"transport"}),
    "augment": ("which extra samples", {"transport", "embed", "geodesic"}),
    "certify": ("what is provable", set()),
    "attacks": ("the worst input nearby", {"transport", "embed", "geodesic", "certify"}),
    "methods": ("which loss for this batch", {"attacks", "augment", "geodesic"}),
    "audit": ("the model between classes", {"transport", "embed", "geodesic", "certify"}),
    "drift": ("accuracy on unlabelled data", {"transport", "embed", "geodesic", "data"}),
    "engine": (
        "training, and a run as an object",
        {
            "transport", "data", "models", "methods", "augment", "geodesic", "embed", "attacks", "certify",
            "audit", "drift", "recipes",
        },
    ),
    "experiments": (
        "tables and studies, and what fills them",
        {
            "attacks", "audit", "certify", "data", "drift", "engine", "models", "recipes", "theory",
            "geodesic", "transport", "embed",
        },
    ),
    "report": ("one page from results", {"attacks", "audit", "certify", "drift", "engine"}),
    "evidence": ("a bundle that another person can check", {"attacks", "certify", "audit", "drift"}),
}  # fmt: skip
"""Part -> what it is for, and the parts that it may import beside the ground."""
