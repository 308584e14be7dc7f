"""Section 2 of the paper on scans: the factored form of a polynomial is a template, and an assertion says what it must equal."""


def factored_form(x):
    return (x - ??) * (x - ??)


def main(x):
    assert x * x - 2 * x - 3 == factored_form(x)
