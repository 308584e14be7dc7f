"""The spec of blur.ptx for `warploom ptx prove`: plain sequential Python on the kernel's parameters."""


def blur(out, inp, n):
    for i in range(2, n - 2):
        out[i] = 0.1 * (inp[i - 2] + inp[i + 2]) + 0.2 * (inp[i - 1] + inp[i + 1]) + 0.4 * inp[i]
