"""The Gaussian model of the paper: closed forms, corrected where its text is wrong, each one simulated."""
