/* The read of the benchmark `query` through PCP: 10 metrics of 1,000 instances, published by memory-mapped values, fetched
 * in this process and converted to rates. Prints the nanoseconds of CPU time per value for the fetch and for the rates. */
#include <pcp/pmapi.h>
#include <pcp/mmv_stats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { METRICS = 10, INSTANCES = 1000, ROUNDS = 51, CLUSTER = 321, MMV = 70 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static int smaller(const void *one, const void *other) {
    double difference = *(const double *)one - *(const double *)other;
    return (difference > 0) - (difference < 0);
}

static double median(double *times) {
    qsort(times, ROUNDS, sizeof *times, smaller);
    return times[ROUNDS / 2] / (METRICS * INSTANCES);
}

int main(int argc, char **argv) {
    static mmv_instances_t instances[INSTANCES];
    static mmv_metric_t metrics[METRICS];
    static double fetched[ROUNDS], rated[ROUNDS];
    mmv_indom_t indom = {.serial = 1, .count = INSTANCES, .instances = instances};
    pmID ids[METRICS];
    pmResult *before = NULL, *result;
    double sum = 0;
    void *map;
    int round, metric, value, status;
    char library[1024];
    if (argc < 2) return 2;
    snprintf(library, sizeof library, "add,%d,%s,mmv_init", MMV, argv[1]);
    for (value = 0; value < INSTANCES; value++) {
        instances[value].internal = value;
        snprintf(instances[value].external, sizeof instances[value].external, "worker-%d", value);
    }
    for (metric = 0; metric < METRICS; metric++) {
        snprintf(metrics[metric].name, sizeof metrics[metric].name, "counter%d", metric);
        metrics[metric].item = metric + 1;
        metrics[metric].type = MMV_TYPE_U64;
        metrics[metric].semantics = MMV_SEM_COUNTER;
        metrics[metric].dimension = (pmUnits)MMV_UNITS(0, 0, 1, 0, 0, PM_COUNT_ONE);
        metrics[metric].indom = 1;
        ids[metric] = pmID_build(MMV, CLUSTER, metric + 1);
    }
    map = mmv_stats_init("tallymonbench", CLUSTER, 0, metrics, METRICS, &indom, 1);
    if (!map) return perror("mmv_stats_init"), 3;
    pmSpecLocalPMDA("clear");
    if (pmSpecLocalPMDA(library)) return fprintf(stderr, "no %s\n", library), 3;
    if ((status = pmNewContext(PM_CONTEXT_LOCAL, NULL)) < 0) return fprintf(stderr, "%s\n", pmErrStr(status)), 3;
    for (metric = 0; metric < METRICS; metric++)
        for (value = 0; value < INSTANCES; value++) {
            /* The look-up walks all values, so it is done once. */
            pmAtomValue *atom = mmv_lookup_value_desc(map, metrics[metric].name, instances[value].external);
            if (atom) mmv_inc_value(map, atom, value + metric);
        }
    for (round = 0; round <= ROUNDS; round++) {
        double start;
        start = now();
        if ((status = pmFetch(METRICS, ids, &result)) < 0) return fprintf(stderr, "%s\n", pmErrStr(status)), 3;
        if (round > 0) fetched[round - 1] = now() - start;
        start = now();
        for (metric = 0; metric < METRICS; metric++) {
            pmValueSet *set = result->vset[metric];
            if (set->numval != INSTANCES) return fprintf(stderr, "%d values\n", set->numval), 3;
            for (value = 0; before && value < set->numval; value++) {
                pmAtomValue one, other;
                pmExtractValue(set->valfmt, &set->vlist[value], PM_TYPE_U64, &one, PM_TYPE_DOUBLE);
                pmExtractValue(before->vset[metric]->valfmt, &before->vset[metric]->vlist[value], PM_TYPE_U64, &other, PM_TYPE_DOUBLE);
                sum += (one.d - other.d) / (1e-9 + (double)(result->timestamp.tv_sec - before->timestamp.tv_sec));
            }
        }
        if (round > 0) rated[round - 1] = now() - start;
        if (before) pmFreeResult(before);
        before = result;
    }
    printf("%.1f %.1f\n", median(fetched), median(rated));
    mmv_stats_stop("tallymonbench", map);
    return sum != sum;
}
