"""Random functions of the accepted subset: what the reader takes them to mean against CPython."""
