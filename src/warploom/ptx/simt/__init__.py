"""The concrete SIMT interpreter of PTX."""
