/* A team of threads that lives on, and its clock. Built once; kernels of other libraries are given to it as pointers.

   A kernel runs the units [begin, end) of its shared loops with a scratch buffer of its own. Thread 0 is the caller. */

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#define PAUSE() __builtin_ia32_pause()
#else
#define PAUSE() ((void)0)
#endif

enum { MOST_THREADS = 256, SPINS_BEFORE_SLEEP = 4000, SPINS_BEFORE_YIELD = 20000, HUGE_PAGE = 1 << 21, GAP = 8 };

typedef void (*Kernel)(void *const *arrays, const double *parameters, ptrdiff_t begin, ptrdiff_t end, char *scratch);

static struct {
    Kernel kernel;
    void *const *arrays;
    const double *parameters;
    ptrdiff_t units;
    size_t scratch_bytes;
    int is_timed;
} task;

/* The round's number times 1024 plus its threads, in one word: a thread that sits a round out reads nothing else. */
static _Atomic uint64_t announced;
static _Atomic int remaining, sleepers, failures;
static int started;
static pid_t owner;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wake = PTHREAD_COND_INITIALIZER;
static char *arenas[MOST_THREADS];
static size_t arena_bytes[MOST_THREADS];
static double busy_s[MOST_THREADS * GAP];

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static int has_scratch(int thread, size_t bytes) {
    if (bytes <= arena_bytes[thread]) return 1;
    const size_t alignment = bytes >= HUGE_PAGE ? HUGE_PAGE : 64;
    void *fresh = NULL;
    free(arenas[thread]);
    arenas[thread] = NULL;
    arena_bytes[thread] = 0;
    if (posix_memalign(&fresh, alignment, bytes) != 0) return 0;
#ifdef MADV_HUGEPAGE
    if (alignment == HUGE_PAGE) madvise(fresh, bytes, MADV_HUGEPAGE);
#endif
    arenas[thread] = fresh;
    arena_bytes[thread] = bytes;
    return 1;
}

static void take_share(int thread, int threads) {
    if (!has_scratch(thread, task.scratch_bytes)) {
        atomic_fetch_add(&failures, 1);
        return;
    }
    const ptrdiff_t begin = task.units * thread / threads, end = task.units * (thread + 1) / threads;
    if (begin == end) return;
    const double start = task.is_timed ? seconds_of(CLOCK_THREAD_CPUTIME_ID) : 0.0;
    task.kernel(task.arrays, task.parameters, begin, end, arenas[thread]);
    if (task.is_timed) busy_s[thread * GAP] += seconds_of(CLOCK_THREAD_CPUTIME_ID) - start;
}

static void *work(void *argument) {
    const int thread = (int)(intptr_t)argument;
    uint64_t seen = 0;
    for (;;) {
        uint64_t now = atomic_load(&announced);
        for (int spins = 0; now == seen && spins < SPINS_BEFORE_SLEEP; ++spins) {
            PAUSE();
            now = atomic_load(&announced);
        }
        if (now == seen) {
            pthread_mutex_lock(&mutex);
            atomic_fetch_add(&sleepers, 1);
            while ((now = atomic_load(&announced)) == seen) pthread_cond_wait(&wake, &mutex);
            atomic_fetch_sub(&sleepers, 1);
            pthread_mutex_unlock(&mutex);
        }
        seen = now;
        const int threads = (int)(now & 1023);
        if (thread >= threads) continue;
        take_share(thread, threads);
        atomic_fetch_sub(&remaining, 1);
    }
    return NULL;
}

/* Threads of a parent process do not live on in its child. */
static int has_threads(int threads) {
    if (owner != getpid()) {
        owner = getpid();
        started = 0;
        atomic_store(&sleepers, 0);
        atomic_store(&announced, 0);
        pthread_mutex_init(&mutex, NULL);
        pthread_cond_init(&wake, NULL);
    }
    for (; started < threads - 1; ++started) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, work, (void *)(intptr_t)(started + 1)) != 0) return 0;
        pthread_detach(thread);
    }
    return 1;
}

static void run_round(int threads) {
    if (threads == 1) {
        take_share(0, 1);
        return;
    }
    atomic_store(&remaining, threads - 1);
    atomic_store(&announced, ((atomic_load(&announced) >> 10) + 1) << 10 | (uint64_t)threads);
    if (atomic_load(&sleepers) > 0) {
        pthread_mutex_lock(&mutex);
        pthread_cond_broadcast(&wake);
        pthread_mutex_unlock(&mutex);
    }
    take_share(0, threads);
    for (int spins = 0; atomic_load(&remaining) > 0; ++spins) {
        if (spins < SPINS_BEFORE_YIELD) PAUSE();
        else sched_yield();
    }
}

/* Runs the kernel `repeats` times and returns the elapsed seconds of all; below 0: -1 no memory, -2 no threads.
   `busy` gets, where it is not null, the CPU seconds of the thread that worked longest; of several runs, which are too short
   to ask for the CPU time around each, those of the caller, its waiting included. */
double warploom_run(Kernel kernel, void *const *arrays, const double *parameters, ptrdiff_t units, size_t scratch_bytes,
                    int threads, int repeats, double *busy) {
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    if ((ptrdiff_t)threads > units) threads = (int)units;
    if (threads < 1) threads = 1;
    if (!has_threads(threads)) return -2.0;
    task.kernel = kernel;
    task.arrays = arrays;
    task.parameters = parameters;
    task.units = units;
    task.scratch_bytes = scratch_bytes;
    task.is_timed = busy != NULL && repeats == 1;
    atomic_store(&failures, 0);
    for (int thread = 0; thread < threads; ++thread) busy_s[thread * GAP] = 0.0;
    const double busy_start = busy != NULL ? seconds_of(CLOCK_THREAD_CPUTIME_ID) : 0.0;
    const double start = seconds_of(CLOCK_MONOTONIC);
    for (int n = 0; n < repeats; ++n) run_round(threads);
    const double elapsed = seconds_of(CLOCK_MONOTONIC) - start;
    if (atomic_load(&failures) > 0) return -1.0;
    if (busy != NULL) {
        *busy = task.is_timed ? 0.0 : seconds_of(CLOCK_THREAD_CPUTIME_ID) - busy_start;
        for (int thread = 0; thread < threads; ++thread)
            if (busy_s[thread * GAP] > *busy) *busy = busy_s[thread * GAP];
    }
    return elapsed;
}
