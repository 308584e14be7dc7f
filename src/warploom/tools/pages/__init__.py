"""HTML pages and pictures of kernels."""
