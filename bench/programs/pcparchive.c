/* Writes rows of numbers from standard input into a PCP archive and reads them back: the peer of the native log.
 *
 *   pcparchive ARCHIVE COUNTERS INSTANCES FIRST-SECOND < rows of COUNTERS * INSTANCES 64-bit numbers
 *
 * Prints the values, and the CPU seconds for writing and reading them. Build with: cc -O2 pcparchive.c -lpcp_import -lpcp
 */
#include <pcp/pmapi.h>
#include <pcp/import.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double cpu(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void check(int status, const char *what)
{
    if (status < 0) {
        fprintf(stderr, "pcparchive: %s: %s\n", what, pmiErrStr(status));
        exit(1);
    }
}

int main(int argc, char **argv)
{
    if (argc != 5) {
        fprintf(stderr, "usage: pcparchive ARCHIVE COUNTERS INSTANCES FIRST-SECOND < rows\n");
        return 2;
    }
    int counters = atoi(argv[2]), instances = atoi(argv[3]);
    long second = atol(argv[4]);
    int series = counters * instances;
    uint64_t *row = malloc(sizeof *row * (size_t)series);
    int *handles = malloc(sizeof *handles * (size_t)series);
    pmID *ids = malloc(sizeof *ids * (size_t)counters);
    const char **names = malloc(sizeof *names * (size_t)counters);
    if (row == NULL || handles == NULL || ids == NULL || names == NULL)
        return 1;

    check(pmiStart(argv[1], 0), "pmiStart");
    check(pmiSetTimezone("UTC"), "pmiSetTimezone");
    pmInDom indom = pmInDom_build(245, 1);
    for (int instance = 0; instance < instances; instance++) {
        char name[32];
        snprintf(name, sizeof name, "instance%d", instance);
        check(pmiAddInstance(indom, name, instance), "pmiAddInstance");
    }
    for (int counter = 0; counter < counters; counter++) {
        char name[32];
        snprintf(name, sizeof name, "bench.counter%d", counter);
        names[counter] = strdup(name);
        ids[counter] = pmID_build(245, 0, (unsigned)counter);
        check(pmiAddMetric(name, ids[counter], PM_TYPE_U64, indom, PM_SEM_INSTANT, pmiUnits(0, 0, 0, 0, 0, 0)),
              "pmiAddMetric");
        for (int instance = 0; instance < instances; instance++) {
            char text[32];
            snprintf(text, sizeof text, "instance%d", instance);
            int handle = pmiGetHandle(name, text);
            check(handle, "pmiGetHandle");
            handles[counter * instances + instance] = handle;
        }
    }
    double written = 0, start;
    long rows = 0;
    while (fread(row, sizeof *row, (size_t)series, stdin) == (size_t)series) {
        start = cpu();
        for (int n = 0; n < series; n++) {
            char text[32];
            snprintf(text, sizeof text, "%llu", (unsigned long long)row[n]);
            check(pmiPutValueHandle(handles[n], text), "pmiPutValueHandle");
        }
        check(pmiWrite((int)(second + rows), 0), "pmiWrite");
        written += cpu() - start;
        rows++;
    }
    start = cpu();
    check(pmiEnd(), "pmiEnd");
    written += cpu() - start;

    start = cpu();
    check(pmNewContext(PM_CONTEXT_ARCHIVE, argv[1]), "pmNewContext");
    check(pmLookupName(counters, names, ids), "pmLookupName");
    struct timeval begin = { second, 0 };
    check(pmSetMode(PM_MODE_FORW, &begin, 0), "pmSetMode");
    long found = 0;
    pmResult *result;
    while (pmFetch(counters, ids, &result) >= 0) {
        for (int n = 0; n < result->numpmid; n++)
            found += result->vset[n]->numval > 0 ? result->vset[n]->numval : 0;
        pmFreeResult(result);
    }
    printf("%ld %ld %.6f %.6f\n", rows * series, found, written, cpu() - start);
    return 0;
}
