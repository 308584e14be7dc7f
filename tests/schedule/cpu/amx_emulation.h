/* Tile registers as plain C, put before the text of a kernel: what Intel's manual says that each instruction does.

   Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18 (palette 1), volume 2 (LDTILECFG,
   TILELOADD, TILESTORED, TILEZERO, TILERELEASE, TDPBSSD and its kin: their "Operation" and the faults before it). Where a processor would
   raise a fault, `emulated_faults` counts it, and nothing happens. The system's answer is emulated, too (Linux: SYS_arch_prctl is 158,
   ARCH_REQ_XCOMP_PERM 0x1023, XTILEDATA 18). */

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define MOST_ROWS 16
#define MOST_BYTES 64
#define TILE_COUNT 8

int emulated_refuses;  /* the system lends no tiles */
int emulated_asked, emulated_faults, emulated_products, emulated_loads, emulated_configured;
static int emulated_allowed;

static __thread struct {
    uint8_t palette, rows[TILE_COUNT];
    uint16_t row_bytes[TILE_COUNT];
    uint8_t data[TILE_COUNT][MOST_ROWS][MOST_BYTES];
} tiles;

static void count(int *counter, int amount) { __atomic_fetch_add(counter, amount, __ATOMIC_RELAXED); }

static int emulated_fault(int is_one) {
    if (is_one) count(&emulated_faults, 1);
    return is_one;
}

static long emulated_syscall(long number, long code, long feature) {
    count(&emulated_asked, 1);
    if (emulated_fault(number != 158 || code != 0x1023 || feature != 18) || emulated_refuses) return -1;
    emulated_allowed = 1;
    return 0;
}

static void emulated_loadconfig(const void *from) {
    const uint8_t *config = from;
    uint16_t row_bytes[16];
    memcpy(row_bytes, config + 16, sizeof row_bytes);
    int is_wrong = !emulated_allowed || config[0] != 1 || config[1] != 0;
    for (int n = 2; n < 16; ++n) is_wrong |= config[n] != 0;
    for (int n = 0; n < 16; ++n) {
        int rows = config[48 + n];
        is_wrong |= n < TILE_COUNT ? rows > MOST_ROWS || row_bytes[n] > MOST_BYTES || !rows != !row_bytes[n] : rows || row_bytes[n];
    }
    if (emulated_fault(is_wrong)) return;
    memset(&tiles, 0, sizeof tiles);
    tiles.palette = 1;
    for (int n = 0; n < TILE_COUNT; ++n) {
        tiles.rows[n] = config[48 + n];
        tiles.row_bytes[n] = row_bytes[n];
    }
    count(&emulated_configured, 1);
}

static void emulated_release(void) {
    if (tiles.palette) count(&emulated_configured, -1);
    memset(&tiles, 0, sizeof tiles);
}

static int is_no_tile(int tile) { return tiles.palette != 1 || tile < 0 || tile >= TILE_COUNT || tiles.rows[tile] == 0; }

static void emulated_loadd(int tile, const void *from, long stride) {
    if (emulated_fault(is_no_tile(tile))) return;
    memset(tiles.data[tile], 0, sizeof tiles.data[tile]);
    for (int row = 0; row < tiles.rows[tile]; ++row)
        memcpy(tiles.data[tile][row], (const char *)from + row * stride, tiles.row_bytes[tile]);
    count(&emulated_loads, 1);
}

static void emulated_zero(int tile) {
    if (emulated_fault(is_no_tile(tile))) return;
    memset(tiles.data[tile], 0, sizeof tiles.data[tile]);
}

static void emulated_stored(int tile, void *to, long stride) {
    if (emulated_fault(is_no_tile(tile))) return;
    for (int row = 0; row < tiles.rows[tile]; ++row)
        memcpy((char *)to + row * stride, tiles.data[tile][row], tiles.row_bytes[tile]);
}

static int32_t byte_of(uint8_t byte, int is_signed) { return is_signed ? (int8_t)byte : byte; }

static void emulated_products_of(int to, int first, int second, int first_is_signed, int second_is_signed) {
    int is_wrong = is_no_tile(to) || is_no_tile(first) || is_no_tile(second) || to == first || to == second || first == second;
    is_wrong = is_wrong || tiles.rows[to] != tiles.rows[first] || tiles.row_bytes[to] != tiles.row_bytes[second];
    is_wrong = is_wrong || tiles.row_bytes[first] != 4 * tiles.rows[second] || tiles.row_bytes[to] % 4;
    if (emulated_fault(is_wrong)) return;
    for (int m = 0; m < tiles.rows[to]; ++m)
        for (int n = 0; n < tiles.row_bytes[to] / 4; ++n) {
            uint32_t sum;
            memcpy(&sum, tiles.data[to][m] + 4 * n, 4);
            for (int k = 0; k < tiles.row_bytes[first] / 4; ++k)
                for (int b = 0; b < 4; ++b)
                    sum += (uint32_t)(byte_of(tiles.data[first][m][4 * k + b], first_is_signed) *
                                      byte_of(tiles.data[second][k][4 * n + b], second_is_signed));
            memcpy(tiles.data[to][m] + 4 * n, &sum, 4);
        }
    count(&emulated_products, 1);
}

static float bf16_of(const uint8_t *from) {
    uint32_t bits = (uint32_t)from[0] << 16 | (uint32_t)from[1] << 24;
    float number;
    memcpy(&number, &bits, 4);
    return number;
}

/* Of whole numbers, whose sums are exact: the first of all words, the second of all words, both, and the total. */
static void emulated_products_of_bf16(int to, int first, int second) {
    int is_wrong = is_no_tile(to) || is_no_tile(first) || is_no_tile(second) || to == first || to == second || first == second;
    is_wrong = is_wrong || tiles.rows[to] != tiles.rows[first] || tiles.row_bytes[to] != tiles.row_bytes[second];
    is_wrong = is_wrong || tiles.row_bytes[first] != 4 * tiles.rows[second] || tiles.row_bytes[to] % 4;
    if (emulated_fault(is_wrong)) return;
    for (int m = 0; m < tiles.rows[to]; ++m)
        for (int n = 0; n < tiles.row_bytes[to] / 4; ++n) {
            float total, sums[2] = {0, 0};
            memcpy(&total, tiles.data[to][m] + 4 * n, 4);
            for (int k = 0; k < tiles.row_bytes[first] / 4; ++k)
                for (int h = 0; h < 2; ++h)
                    sums[h] += bf16_of(tiles.data[first][m] + 4 * k + 2 * h) * bf16_of(tiles.data[second][k] + 4 * n + 2 * h);
            total += sums[0] + sums[1];
            memcpy(tiles.data[to][m] + 4 * n, &total, 4);
        }
    count(&emulated_products, 1);
}

#define syscall emulated_syscall
#define _tile_loadconfig emulated_loadconfig
#define _tile_release emulated_release
#define _tile_loadd emulated_loadd
#define _tile_stored emulated_stored
#define _tile_zero emulated_zero
#define _tile_dpbssd(to, a, b) emulated_products_of(to, a, b, 1, 1)
#define _tile_dpbsud(to, a, b) emulated_products_of(to, a, b, 1, 0)
#define _tile_dpbusd(to, a, b) emulated_products_of(to, a, b, 0, 1)
#define _tile_dpbuud(to, a, b) emulated_products_of(to, a, b, 0, 0)
#define _tile_dpbf16ps(to, a, b) emulated_products_of_bf16(to, a, b)
#define __AMX_INT8__ 1
#define __AMX_BF16__ 1
