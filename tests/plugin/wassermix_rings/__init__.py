"""One of each family of components: a data set, a model, a method, an augmenter, and so on."""
