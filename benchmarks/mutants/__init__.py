"""Semantic bugs planted by rule in the source, and refusals switched off one at a time: does a test notice?"""
