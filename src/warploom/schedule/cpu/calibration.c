/* Rates of the machine. Every entry has a kernel's signature: one unit per thread, parameters = (passes, bytes). */

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#elif defined(__ARM_FEATURE_SVE_BITS) && __ARM_FEATURE_SVE_BITS == 256
#include <arm_sve.h>
#define BYTES 32
#else
#define BYTES 16
#endif

typedef float Vector __attribute__((vector_size(BYTES)));
typedef float Vector128 __attribute__((vector_size(16)));

#define ENTRY(name) \
    void name(void *const *arrays, const double *parameters, ptrdiff_t begin, ptrdiff_t end, char *restrict scratch)
#define UNUSED() (void)arrays, (void)begin, (void)end, (void)scratch
#if defined(__x86_64__) || defined(__i386__)
#define KEEP(x) __asm__ volatile("" : "+x"(x))
#elif BYTES > 16
/* No constraint takes vectors of C that are longer than NEON's: they pass through those of SVE. */
static inline float kept_scalar(float x) { __asm__ volatile("" : "+w"(x)); return x; }
static inline Vector128 kept_short(Vector128 x) { __asm__ volatile("" : "+w"(x)); return x; }
static inline Vector kept_long(Vector x) { svfloat32_t kept = x; __asm__ volatile("" : "+w"(kept)); return kept; }
#define KEEP(x) ((x) = _Generic((x), float: kept_scalar, Vector128: kept_short, Vector: kept_long)(x))
#else
#define KEEP(x) __asm__ volatile("" : "+w"(x))
#endif
#define TWELVE(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)

const int vector_bytes = BYTES;
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
const int has_fma = 1;
#else
const int has_fma = 0;
#endif

/* What the ports of a core take, by width: passes x 12 independent instructions of one kind. */
#define DECLARE(n) a##n = x;
#define USE(n) KEEP(a##n);
#define FMA(n) a##n = a##n * x + y; KEEP(a##n);
#define ADD(n) a##n = a##n + x; KEEP(a##n);
#define MUL(n) a##n = a##n * x; KEEP(a##n);
#if defined(__AVX__)
#define MAX_OF(n, suffix) __asm__ volatile("vmax" suffix " %1, %0, %0" : "+x"(a##n) : "x"(x));
#else
#define MAX_OF(n, suffix) a##n = a##n + x; KEEP(a##n);
#endif
#define MAX_SCALAR(n) MAX_OF(n, "ss")
#define MAX_VECTOR(n) MAX_OF(n, "ps")
#define LOAD(n) a##n = from[n]; KEEP(a##n);
#define STORE(n) to[n] = a##n; __asm__ volatile("" : : : "memory");
#define LOAD_WORD(n) a##n = from[n]; __asm__ volatile("" : "+r"(a##n));
#define USE_WORD(n) __asm__ volatile("" : "+r"(a##n));
#define ARITHMETIC(name, type, DO) \
    ENTRY(name) { \
        UNUSED(); \
        const ptrdiff_t passes = (ptrdiff_t)parameters[0]; \
        type x, y, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11; \
        memset(&x, 0, sizeof x); \
        memset(&y, 0, sizeof y); \
        KEEP(x); \
        KEEP(y); \
        TWELVE(DECLARE) \
        for (ptrdiff_t i = 0; i < passes; ++i) { TWELVE(DO) } \
        TWELVE(USE) \
        KEEP(y); \
    }
#define ACCESSES(name, type, DO, USED) \
    ENTRY(name) { \
        UNUSED(); \
        const ptrdiff_t passes = (ptrdiff_t)parameters[0]; \
        type x, a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11; \
        type *const from = (type *)scratch, *const to = from; \
        memset(&x, 0, sizeof x); \
        TWELVE(DECLARE) \
        TWELVE(USED) \
        (void)from, (void)to; \
        for (ptrdiff_t i = 0; i < passes; ++i) { \
            TWELVE(DO) \
            __asm__ volatile("" : : : "memory"); \
        } \
    }
#define WIDTH(bits, type, MAX) \
    ARITHMETIC(fma_##bits, type, FMA) \
    ARITHMETIC(add_##bits, type, ADD) \
    ARITHMETIC(mul_##bits, type, MUL) \
    ARITHMETIC(max_##bits, type, MAX) \
    ACCESSES(load_##bits, type, LOAD, USE) \
    ACCESSES(store_##bits, type, STORE, USE)

WIDTH(32, float, MAX_SCALAR)
ACCESSES(load_word, size_t, LOAD_WORD, USE_WORD)
ACCESSES(store_word, size_t, STORE, USE_WORD)
WIDTH(128, Vector128, MAX_VECTOR)
#if BYTES >= 32
typedef float Vector256 __attribute__((vector_size(32)));
WIDTH(256, Vector256, MAX_VECTOR)
#endif
#if BYTES >= 64
WIDTH(512, Vector, MAX_VECTOR)
#endif

#if BYTES >= 64 && defined(__AVX512BF16__)
const int has_bf16_dots = 1;
#define BF16_DOT(n) __asm__ volatile("vdpbf16ps %1, %1, %0" : "+v"(a##n) : "v"(x));
#else
const int has_bf16_dots = 0;
#define BF16_DOT(n) KEEP(a##n);
#endif
ARITHMETIC(bf16_dots, Vector, BF16_DOT)

ENTRY(fma_chain) { /* passes x 8 dependent FMAs */
    UNUSED();
    const ptrdiff_t passes = (ptrdiff_t)parameters[0];
    Vector x, a;
    memset(&x, 0, sizeof x);
    KEEP(x);
    a = x;
    for (ptrdiff_t i = 0; i < passes; ++i)
        for (int n = 0; n < 8; ++n) {
            a = a * x + x;
            KEEP(a);
        }
}

ENTRY(add_chain) { /* passes x 8 dependent integer additions: cycles */
    UNUSED();
    const ptrdiff_t passes = (ptrdiff_t)parameters[0];
    size_t a = 1;
    for (ptrdiff_t i = 0; i < passes; ++i)
        for (int n = 0; n < 8; ++n) {
            a += (size_t)passes;
            __asm__ volatile("" : "+r"(a));
        }
    __asm__ volatile("" : : "r"(a));
}

ENTRY(empty_loop) {
    UNUSED();
    const ptrdiff_t passes = (ptrdiff_t)parameters[0];
    for (ptrdiff_t i = 0; i < passes; ++i) __asm__ volatile("" : "+r"(i));
}

ENTRY(inner_loops) { /* passes loops of 16 empty iterations: what a short inner loop costs */
    UNUSED();
    const ptrdiff_t passes = (ptrdiff_t)parameters[0];
    for (ptrdiff_t i = 0; i < passes; ++i) {
        ptrdiff_t size = 16;
        __asm__ volatile("" : "+r"(size));
        for (ptrdiff_t k = 0; k < size; ++k) __asm__ volatile("" : "+r"(k));
    }
}

ENTRY(nothing) { UNUSED(); (void)parameters; }

ENTRY(read_rate) {
    UNUSED();
    const ptrdiff_t passes = (ptrdiff_t)parameters[0], size = (ptrdiff_t)(parameters[1] / BYTES);
    const Vector *from = (const Vector *)scratch;
    Vector a, b, c, d;
    for (ptrdiff_t i = 0; i < passes; ++i) {
        __asm__ volatile("" : : : "memory");
        for (ptrdiff_t n = 0; n + 8 <= size; n += 8) {
            a = from[n]; b = from[n + 1]; c = from[n + 2]; d = from[n + 3];
            KEEP(a); KEEP(b); KEEP(c); KEEP(d);
            a = from[n + 4]; b = from[n + 5]; c = from[n + 6]; d = from[n + 7];
            KEEP(a); KEEP(b); KEEP(c); KEEP(d);
        }
    }
}

ENTRY(write_rate) {
    UNUSED();
    const ptrdiff_t passes = (ptrdiff_t)parameters[0], size = (ptrdiff_t)(parameters[1] / BYTES);
    Vector *to = (Vector *)scratch;
    Vector x;
    memset(&x, 0, sizeof x);
    for (ptrdiff_t i = 0; i < passes; ++i) {
        KEEP(x);
        for (ptrdiff_t n = 0; n + 8 <= size; n += 8) {
            to[n] = x; to[n + 1] = x; to[n + 2] = x; to[n + 3] = x;
            to[n + 4] = x; to[n + 5] = x; to[n + 6] = x; to[n + 7] = x;
            __asm__ volatile("" : : : "memory");
        }
    }
}

ENTRY(copy_rate) { /* the first half to the second: bytes / 2 read, bytes / 2 written */
    UNUSED();
    const ptrdiff_t passes = (ptrdiff_t)parameters[0], size = (ptrdiff_t)(parameters[1] / BYTES) / 2;
    Vector *from = (Vector *)scratch, *to = from + size;
    for (ptrdiff_t i = 0; i < passes; ++i)
        for (ptrdiff_t n = 0; n + 4 <= size; n += 4) {
            Vector a = from[n], b = from[n + 1], c = from[n + 2], d = from[n + 3];
            KEEP(a); KEEP(b); KEEP(c); KEEP(d);
            to[n] = a; to[n + 1] = b; to[n + 2] = c; to[n + 3] = d;
        }
}

ENTRY(strided_rate) { /* one vector per 4160 bytes: what a column costs */
    UNUSED();
    const ptrdiff_t passes = (ptrdiff_t)parameters[0], size = (ptrdiff_t)parameters[1];
    for (ptrdiff_t i = 0; i < passes; ++i) {
        __asm__ volatile("" : : : "memory");
        for (ptrdiff_t start = 0; start < 4160; start += 64)
            for (ptrdiff_t n = start; n + BYTES <= size; n += 4160) {
                Vector a = *(const Vector *)(scratch + n);
                KEEP(a);
            }
    }
}

ENTRY(chase) { /* passes dependent loads through a cycle of lines in random order */
    UNUSED();
    ptrdiff_t passes = (ptrdiff_t)parameters[0];
    const ptrdiff_t lines = (ptrdiff_t)(parameters[1] / 64);
    uint64_t state = 88172645463325252u;
    for (ptrdiff_t n = 0; n < lines; ++n) *(ptrdiff_t *)(scratch + n * 64) = n;
    for (ptrdiff_t n = lines - 1; n > 0; --n) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        const ptrdiff_t other = (ptrdiff_t)(state % (uint64_t)n), held = *(ptrdiff_t *)(scratch + n * 64);
        *(ptrdiff_t *)(scratch + n * 64) = *(ptrdiff_t *)(scratch + other * 64);
        *(ptrdiff_t *)(scratch + other * 64) = held;
    }
    ptrdiff_t at = 0;
    for (; passes > 0; --passes) at = *(volatile ptrdiff_t *)(scratch + at * 64);
    __asm__ volatile("" : : "r"(at));
}
