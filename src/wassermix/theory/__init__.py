"""The Gaussian model of the paper: closed forms, corrected where its text is wrong, each one simulated."""

from typing import TYPE_CHECKING

from wassermix.core.lazy import lazy_names

if TYPE_CHECKING:
    from wassermix.theory.augmentation import (
        augmentation_helps,
        break_even_ratio,
        effective_samples,
        estimates,
        label_sum,
        least_shrinkage,
        mixed_both_ways,
        worst_ratio,
    )
    from wassermix.theory.class_transport import (
        class_distance,
        class_geodesic,
        class_map,
        random_distance,
        random_path,
    )
    from wassermix.theory.gaussian_model import (
        certified_accuracy,
        certified_accuracy_of_draws,
        l2_error,
        linf_bound,
        linf_error,
        sample,
        score,
        smoothed_error,
        standard_error,
        tail,
    )
    from wassermix.theory.geodesic_spread import (
        blurred_covariance,
        entropic_correlation,
        matched_correlation,
        optimal_covariance,
        random_covariance,
        spread_of_pairs,
    )
    from wassermix.theory.regularizer import (
        label_entropy,
        linear_minimizer,
        linear_objective,
        linear_path_loss,
        linear_regularizer,
        logistic_path_loss,
        printed_minimizer,
        total_variation,
    )
    from wassermix.theory.theorem import (
        Setting,
        conditions_hold,
        improvement,
        printed_probability,
        proof_probability,
    )
    from wassermix.theory.wasserstein_ball import (
        mean_shift_error,
        printed_error,
        worst_error,
        worst_gaussian,
        worst_score,
        worst_step,
    )

__all__ = [
    "Setting",
    "augmentation_helps",
    "blurred_covariance",
    "break_even_ratio",
    "certified_accuracy",
    "certified_accuracy_of_draws",
    "class_distance",
    "class_geodesic",
    "class_map",
    "conditions_hold",
    "effective_samples",
    "entropic_correlation",
    "estimates",
    "improvement",
    "l2_error",
    "label_entropy",
    "label_sum",
    "least_shrinkage",
    "linear_minimizer",
    "linear_objective",
    "linear_path_loss",
    "linear_regularizer",
    "linf_bound",
    "linf_error",
    "logistic_path_loss",
    "matched_correlation",
    "mean_shift_error",
    "mixed_both_ways",
    "optimal_covariance",
    "printed_error",
    "printed_minimizer",
    "printed_probability",
    "proof_probability",
    "random_covariance",
    "random_distance",
    "random_path",
    "sample",
    "score",
    "smoothed_error",
    "spread_of_pairs",
    "standard_error",
    "tail",
    "total_variation",
    "worst_error",
    "worst_gaussian",
    "worst_ratio",
    "worst_score",
    "worst_step",
]

__getattr__ = lazy_names(__name__)
