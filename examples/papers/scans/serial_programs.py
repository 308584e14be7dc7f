"""Section 3.1 of the paper on scans: serial programs as it prints them, results by position. Each becomes an associative operator."""


def SerialSegmentedScan(tupledArray):
    """As printed, without types: the elements are pairs, since the loop takes them apart, and of whole numbers."""
    n = len(tupledArray)
    output = [0] * n
    output[0] = tupledArray[0][0]
    for i in range(1, n):
        (v, bit) = tupledArray[i]
        if bit == 1:
            output[i] = v
        else:
            output[i] = output[i - 1] + v
    return output


def segmented_sums(pairs: list[tuple[int, bool]]):
    """The serial specification of a segmented scan: a bit begins a segment."""
    n = len(pairs)
    output = [0] * n
    output[0] = pairs[0][0]
    for i in range(1, n):
        (v, bit) = pairs[i]
        if bit == 1:
            output[i] = v
        else:
            output[i] = output[i - 1] + v
    return output


def sums(values: list[int]):
    n = len(values)
    output = [0] * n
    output[0] = values[0]
    for i in range(1, n):
        output[i] = output[i - 1] + values[i]
    return output


def enrichment(values: list[int]):
    """The enrichment of Section 3.1: each element gets the slots that an operator needs; here those of the greatest sum of a segment."""
    n = len(values)
    output = [0] * n
    for i in range(0, n):
        output[i] = max(values[i], 0)
    return output


def greatest_segment(values: list[int]):
    """The maximal segment sum, with the best one that ends at each position in a list."""
    n = len(values)
    ending = [0] * n
    best = [0] * n
    ending[0] = max(values[0], 0)
    best[0] = ending[0]
    for i in range(1, n):
        ending[i] = max(ending[i - 1] + values[i], 0)
        best[i] = max(best[i - 1], ending[i])
    return best
