"""The drift survey: estimators of accuracy on unlabelled data, beside each other on known shifts."""
