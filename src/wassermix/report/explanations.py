"""What each part of the page means, in a few sentences for a reader who does not know the field."""

from __future__ import annotations

__all__ = ["ATTACKS", "CERTIFICATES", "GEODESICS", "MORPH", "TESTS", "TRIANGLES"]

CERTIFICATES = (
    "Randomized smoothing proves, with probability at least 1 − alpha for each image, that no "
    "disturbance shorter than the radius changes the smoothed classifier's answer. Certified accuracy "
    "at r is the share of images that are classified rightly with a radius of at least r. Modes and "
    "numbers of draws differ in what they can prove, so each has a table of its own."
)
ATTACKS = (
    "An attack looks for a disturbance within eps that changes the answer. Attacked accuracy is an "
    "upper bound on robust accuracy: a stronger attack may find more. A sanity check that fails says "
    "why the number may be far too high; 'strength' only says that a stronger attack is worth running."
)
TESTS = (
    "Two runs that saw the same images are compared by the images that only one of them gets right "
    "(McNemar's exact test). Holm's p allows for the number of tests on this page: below 0.05, the "
    "difference is unlikely to be chance."
)
MORPH = (
    "Move along a Wasserstein geodesic from one class to another, and see what the model makes of it. "
    "Arrow keys move the slider; page-up and page-down move it faster."
)
GEODESICS = (
    "The performance geodesic: the model's loss on samples that optimal transport carries from one "
    "class to another. KL is the cross-entropy to the mixed label less that label's own entropy, so 0 "
    "is perfect at every t."
)
TRIANGLES = (
    "Three classes at once: each corner holds the samples of a class, each side the geodesic from one to "
    "another, and the inside mixes all three. KL as above; one colour scale for all runs."
)
