/* A team of threads that lives on, and its clock. Built once; kernels of other libraries are given to it as pointers.

   A kernel runs the units [begin, end) of its shared loops with a scratch buffer of its own; when all units are done the team
   runs those of its second part, if it has one. Thread 0 is the caller.

   While a job runs, each thread has a core of its own where there are enough, and none of them sleeps: waking up takes a hundred
   times as long as a small kernel. Other processes may hold a thread's core, so nobody waits for a thread that has not begun: the
   caller, done with its own share, takes the shares that nobody has claimed. */

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
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

typedef struct {
    Kernel kernel, second; /* `second` may be null */
    void *const *arrays;
    const double *parameters;
    ptrdiff_t units, second_units;
    size_t scratch_bytes;
} Job;

static struct {
    const Job *job;
    Kernel kernel; /* null: a round in which the team only gathers, each thread for itself */
    ptrdiff_t units;
    int is_timed;
} task;

/* The round's number times 1024 plus its threads, in one word: a thread that sits a round out reads nothing else. */
static _Atomic uint64_t announced;
/* The last round in which somebody claimed a thread's share, that thread or the caller. */
static _Atomic uint64_t claimed[MOST_THREADS * GAP];
static _Atomic int remaining, sleepers, failures, is_running;
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

/* Cores: that of the caller first, then the others that it may use; -1 first where they are too few. A worker keeps its core
   after the job: `held` has its number plus 1, or 0 for a thread that may run on any. */
#ifdef __linux__
static cpu_set_t allowed;
static int cores[MOST_THREADS], held[MOST_THREADS];

static void forget_cores(void) { memset(held, 0, sizeof held); }

static void choose_cores(int threads) {
    int count = 0;
    const int own = sched_getcpu();
    cores[0] = -1;
    if (own < 0 || sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < threads) return;
    for (int n = 0; n < CPU_SETSIZE && count < threads; ++n) {
        const int core = (own + n) % CPU_SETSIZE;
        if (CPU_ISSET(core, &allowed)) cores[count++] = core;
    }
}

static void hold_core(int thread) {
    const int wanted = cores[0] < 0 ? 0 : cores[thread] + 1;
    if (held[thread] == wanted) return;
    cpu_set_t set = allowed;
    if (wanted > 0) {
        CPU_ZERO(&set);
        CPU_SET(wanted - 1, &set);
    }
    if (sched_setaffinity(0, sizeof set, &set) == 0) held[thread] = wanted;
}

/* Of the caller. */
static void leave_core(void) {
    if (held[0] > 0 && sched_setaffinity(0, sizeof allowed, &allowed) == 0) held[0] = 0;
}
#else
static void forget_cores(void) {}
static void choose_cores(int threads) { (void)threads; }
static void hold_core(int thread) { (void)thread; }
static void leave_core(void) {}
#endif

/* `share` of the round, run by `thread`, whose core and scratch are made ready first. */
static void run_share(int share, int thread, int threads) {
    const Job *job = task.job;
    if (threads > 1) hold_core(thread);
    if (!has_scratch(thread, job->scratch_bytes)) {
        atomic_fetch_add(&failures, 1);
        return;
    }
    const ptrdiff_t begin = task.units * share / threads, end = task.units * (share + 1) / threads;
    if (task.kernel == NULL || begin == end) return;
    const double start = task.is_timed ? seconds_of(CLOCK_THREAD_CPUTIME_ID) : 0.0;
    task.kernel(job->arrays, job->parameters, begin, end, arenas[thread]);
    if (task.is_timed) busy_s[share * GAP] += seconds_of(CLOCK_THREAD_CPUTIME_ID) - start;
}

/* Runs the share if it is still to be had. All shares of a round are claimed before the caller announces the next one, so a
   thread that comes late finds its own taken, and what it reads of a task that it has claimed does not change. */
static void take_share(int share, int thread, uint64_t round, int threads) {
    uint64_t last = atomic_load(&claimed[share * GAP]);
    if (last >= round || !atomic_compare_exchange_strong(&claimed[share * GAP], &last, round)) return;
    run_share(share, thread, threads);
    atomic_fetch_sub(&remaining, 1);
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
        if (now == seen && atomic_load(&is_running)) {
            sched_yield();
            continue;
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
        if (thread < threads) take_share(thread, thread, now >> 10, threads);
    }
    return NULL;
}

/* Threads of a parent process do not live on in its child. */
static int has_threads(int threads) {
    if (owner != getpid()) {
        owner = getpid();
        started = 0;
        atomic_store(&sleepers, 0);
        atomic_store(&is_running, 0);
        atomic_store(&announced, 0);
        for (int thread = 0; thread < MOST_THREADS; ++thread) atomic_store(&claimed[thread * GAP], 0);
        forget_cores();
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

static void run_round(Kernel kernel, ptrdiff_t units, int threads) {
    task.kernel = kernel;
    task.units = units;
    if (threads == 1) {
        run_share(0, 0, 1);
        return;
    }
    const uint64_t round = (atomic_load(&announced) >> 10) + 1;
    atomic_store(&remaining, threads - 1);
    atomic_store(&announced, round << 10 | (uint64_t)threads);
    if (atomic_load(&sleepers) > 0) {
        pthread_mutex_lock(&mutex);
        pthread_cond_broadcast(&wake);
        pthread_mutex_unlock(&mutex);
    }
    run_share(0, 0, threads);
    for (int share = 1; kernel != NULL && share < threads; ++share) take_share(share, 0, round, threads);
    for (int spins = 0; atomic_load(&remaining) > 0; ++spins) {
        if (spins < SPINS_BEFORE_YIELD) PAUSE();
        else sched_yield();
    }
}

static int least(int threads, ptrdiff_t units) { return (ptrdiff_t)threads > units ? (int)units : threads; }

static void run_once(const Job *job, int threads) {
    run_round(job->kernel, job->units, threads);
    if (job->second != NULL) run_round(job->second, job->second_units, least(threads, job->second_units));
}

/* Runs the job `samples` times `repeats` times, the threads awake before the first if there are several. `walls` gets the elapsed
   seconds of each sample, `busies` the CPU seconds of the thread that worked longest, asked around each share, within the elapsed
   time. Of several repeats, which are too short for that, they are those of the caller, its waiting included; so they are of one
   thread, which waits for nobody. 0, or -1: no memory, -2: no threads. */
int warploom_run(const Job *job, int threads, int repeats, int samples, double *walls, double *busies) {
    if (threads > MOST_THREADS) threads = MOST_THREADS;
    threads = least(threads, job->units);
    if (threads < 1) threads = 1;
    if (!has_threads(threads)) return -2;
    task.job = job;
    task.is_timed = repeats == 1 && threads > 1;
    atomic_store(&failures, 0);
    if (threads > 1) {
        atomic_store(&is_running, 1);
        choose_cores(threads);
        if (repeats * samples > 1) run_round(NULL, 0, threads);
    } else if (!has_scratch(0, job->scratch_bytes))
        return -1;
    for (int sample = 0; sample < samples && atomic_load(&failures) == 0; ++sample) {
        for (int thread = 0; thread < threads; ++thread) busy_s[thread * GAP] = 0.0;
        const double busy_start = seconds_of(CLOCK_THREAD_CPUTIME_ID), start = seconds_of(CLOCK_MONOTONIC);
        for (int n = 0; n < repeats; ++n) run_once(job, threads);
        walls[sample] = seconds_of(CLOCK_MONOTONIC) - start;
        busies[sample] = task.is_timed ? 0.0 : seconds_of(CLOCK_THREAD_CPUTIME_ID) - busy_start;
        for (int thread = 0; thread < threads; ++thread)
            if (busy_s[thread * GAP] > busies[sample]) busies[sample] = busy_s[thread * GAP];
    }
    if (threads > 1) {
        leave_core();
        atomic_store(&is_running, 0);
    }
    return atomic_load(&failures) > 0 ? -1 : 0;
}
