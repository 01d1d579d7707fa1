"""One of each kind of component: a data set, a model, a method, an augmenter, and so on."""
