/* Opens, adds, collects and closes again and again: soak cycles. Prints the memory of the process in KB after a tenth of
 * the cycles and at the end. */
#include <windows.h>
#include <pdh.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long resident(void) {
    char line[256];
    long kilobytes = -1;
    FILE *file = fopen("/proc/self/status", "r");
    while (file && fgets(line, sizeof line, file))
        if (!strncmp(line, "VmRSS:", 6)) kilobytes = atol(line + 6);
    if (file) fclose(file);
    return kilobytes;
}

int main(int argc, char **argv) {
    long cycles = argc > 1 ? atol(argv[1]) : 100, cycle, first = 0;
    PDH_HQUERY kept;
    if (PdhOpenQueryA(NULL, 0, &kept)) return 1;
    for (cycle = 0; cycle < cycles; cycle++) {
        PDH_HQUERY query;
        PDH_HCOUNTER counter, other, wild;
        PDH_FMT_COUNTERVALUE value;
        if (PdhOpenQueryA(NULL, 0, &query) || PdhAddCounterA(query, "\\Processor(0)\\% Processor Time", 0, &counter) ||
            PdhCollectQueryData(query))
            return 2;
        /* Some are closed with counters in them, others without. */
        if (cycle % 2 && PdhRemoveCounter(counter)) return 3;
        if (cycle % 10 == 0 && (PdhAddCounterA(query, "\\Processor(*)\\Interrupts/sec", 0, &wild) || PdhCollectQueryData(query)))
            return 4;
        if (PdhCloseQuery(query)) return 5;
        if (PdhGetFormattedCounterValue(counter, PDH_FMT_LONG, NULL, &value) == ERROR_SUCCESS) return 6;
        /* A query that stays, with counters that come and go. */
        if (PdhAddCounterA(kept, "\\System\\Processes", 0, &other) || PdhCollectQueryData(kept) ||
            PdhGetFormattedCounterValue(other, PDH_FMT_LONG, NULL, &value) || PdhRemoveCounter(other))
            return 7;
        if (cycle == cycles / 10) first = resident();
    }
    printf("%ld %ld\n", first, resident());
    return PdhCloseQuery(kept);
}
