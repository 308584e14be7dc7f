"""Text of C: precedence, types, numbers and names, for every printer of C, CUDA and C++."""
