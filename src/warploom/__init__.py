"""Warploom: invents GPU data movement and proves it right."""
