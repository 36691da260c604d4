/* The peer of the benchmark `publish`: counters in PCP's memory-mapped values.
 *
 * `mmv THREADS KIND` prints the nanoseconds of CPU time per operation with THREADS threads at once, the median of several
 * rounds. `mmv THREADS lost` prints how many increments are missing after all threads have incremented one counter. The
 * kinds: `own`, one counter per thread; `shared`, one for all; `set`, a value set through its handle; `name`, the first
 * metric, looked up by its name each time. */
#include <pcp/pmapi.h>
#include <pcp/mmv_stats.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 16, ROUNDS = 9 };
static const long OPERATIONS = 2000000;

static void *map;
static pmAtomValue *values[MOST + 1];
static const char *kind;
static pthread_barrier_t barrier;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static void *work(void *number) {
    long thread = (long)number, n;
    pmAtomValue *own = values[thread], *shared = values[MOST];
    pthread_barrier_wait(&barrier);
    if (!strcmp(kind, "own"))
        for (n = 0; n < OPERATIONS; n++) mmv_inc(map, own);
    else if (!strcmp(kind, "set"))
        for (n = 0; n < OPERATIONS; n++) mmv_set_value(map, own, (double)n);
    else if (!strcmp(kind, "name"))
        for (n = 0; n < OPERATIONS / 10; n++) mmv_stats_inc(map, "counter0", "");
    else
        for (n = 0; n < OPERATIONS; n++) mmv_inc(map, shared);
    return NULL;
}

static int smaller(const void *one, const void *other) {
    double difference = *(const double *)one - *(const double *)other;
    return (difference > 0) - (difference < 0);
}

int main(int argc, char **argv) {
    static mmv_metric_t metrics[MOST + 1];
    double times[ROUNDS];
    pthread_t threads[MOST];
    long n, count, round;
    if (argc != 3 || (count = atol(argv[1])) < 1 || count > MOST) return 2;
    kind = argv[2];
    for (n = 0; n <= MOST; n++) {
        snprintf(metrics[n].name, sizeof metrics[n].name, "counter%ld", n);
        metrics[n].item = (unsigned)n + 1;
        metrics[n].type = MMV_TYPE_U64;
        metrics[n].semantics = MMV_SEM_COUNTER;
        metrics[n].dimension = (pmUnits)MMV_UNITS(0, 0, 1, 0, 0, PM_COUNT_ONE);
        metrics[n].indom = PM_INDOM_NULL;
    }
    map = mmv_stats_init("tallymonbench", 322, MMV_FLAG_PROCESS, metrics, MOST + 1, NULL, 0);
    if (!map) return perror("mmv_stats_init"), 3;
    for (n = 0; n <= MOST; n++) values[n] = mmv_lookup_value_desc(map, metrics[n].name, NULL);
    pthread_barrier_init(&barrier, NULL, (unsigned)count);
    for (round = 0; round < ROUNDS; round++) {
        double before = now();
        for (n = 0; n < count; n++) pthread_create(&threads[n], NULL, work, (void *)n);
        for (n = 0; n < count; n++) pthread_join(threads[n], NULL);
        times[round] = now() - before;
    }
    qsort(times, ROUNDS, sizeof *times, smaller);
    if (!strcmp(kind, "lost")) {
        double made = (double)OPERATIONS * (double)count * ROUNDS;
        printf("%.2f\n", 100 * (1 - (double)values[MOST]->ull / made));
    } else {
        double each = (double)count * (double)OPERATIONS / (strcmp(kind, "name") ? 1 : 10);
        printf("%.2f\n", times[ROUNDS / 2] / each);
    }
    mmv_stats_stop("tallymonbench", map);
    return 0;
}
