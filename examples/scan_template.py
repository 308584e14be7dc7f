"""A template with unknown constants and choices, completed so that it equals a specification for all inputs."""

from warploom.scan import complete_template, parse_module

TEXT = """
def spec(x):
    return x * x - 2 * x - 3

def template(x):
    return (x + ??) * (x + ??)
"""

if __name__ == "__main__":
    found = complete_template(parse_module(TEXT), "spec", "template")
    holes = ", ".join(f"{place} = {value}" for place, value in sorted(found.holes.items()))
    print(f"{found.status} and {found.verdict}: {holes}")
    print(found.source)
