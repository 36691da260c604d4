/* Every counter of the objects that are named as arguments, in two samples. Prints
 *
 *   counter <tab> path <tab> type                              for each counter, with its instances as a wildcard
 *   value <tab> path <tab> instance <tab> type <tab> time base <tab> raw <tab> raw <tab> status <tab> value <tab> status <tab> value
 *
 * for each instance that is in both samples under a name that no other has: the older and the newer raw value (first,
 * second, multi count, status), what the helper computes of these two, and what stands in the array of formatted values.
 */
#include <windows.h>
#include <pdh.h>
#include <pdhmsg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 4096 };

typedef struct {
    char *path;
    PDH_HCOUNTER counter;
    PDH_RAW_COUNTER_ITEM_A *older, *newer;
    PDH_FMT_COUNTERVALUE_ITEM_A *shown;
    DWORD n_older, n_newer, n_shown;
} Counter;

static Counter counters[MOST];
static int n_counters;

static void fail(const char *what, PDH_STATUS status) {
    printf("%s: 0x%08X\n", what, (unsigned)status);
    exit(1);
}

/* The raw values of all instances; none when there are none. */
static PDH_RAW_COUNTER_ITEM_A *raw_values(PDH_HCOUNTER counter, DWORD *count) {
    DWORD bytes = 0;
    PDH_RAW_COUNTER_ITEM_A *items;
    *count = 0;
    if ((DWORD)PdhGetRawCounterArrayA(counter, &bytes, count, NULL) != PDH_MORE_DATA) return NULL;
    items = malloc(bytes);
    if (PdhGetRawCounterArrayA(counter, &bytes, count, items)) fail("PdhGetRawCounterArray", 0);
    return items;
}

static PDH_FMT_COUNTERVALUE_ITEM_A *shown_values(PDH_HCOUNTER counter, DWORD *count) {
    DWORD bytes = 0;
    PDH_FMT_COUNTERVALUE_ITEM_A *items;
    *count = 0;
    if ((DWORD)PdhGetFormattedCounterArrayA(counter, PDH_FMT_DOUBLE | PDH_FMT_NOCAP100, &bytes, count, NULL) != PDH_MORE_DATA)
        return NULL;
    items = malloc(bytes);
    if (PdhGetFormattedCounterArrayA(counter, PDH_FMT_DOUBLE | PDH_FMT_NOCAP100, &bytes, count, items))
        fail("PdhGetFormattedCounterArray", 0);
    return items;
}

/* Where the only item with a name is; -1 when there is none, or several. */
static int only(const PDH_RAW_COUNTER_ITEM_A *items, DWORD count, const char *name) {
    DWORD at;
    int found = -1;
    for (at = 0; at < count; at++)
        if (!strcmp(items[at].szName, name)) {
            if (found >= 0) return -1;
            found = (int)at;
        }
    return found;
}

static void print_raw(const PDH_RAW_COUNTER *raw) {
    printf("%lld %lld %u %08X\t", (long long)raw->FirstValue, (long long)raw->SecondValue, (unsigned)raw->MultiCount,
           (unsigned)raw->CStatus);
}

static void print_counter(Counter *counter) {
    PDH_COUNTER_INFO_A *info;
    DWORD bytes = 0, at;
    LONGLONG base = 0;
    PdhGetCounterInfoA(counter->counter, FALSE, &bytes, NULL);
    info = malloc(bytes);
    if (PdhGetCounterInfoA(counter->counter, FALSE, &bytes, info)) fail(counter->path, 0);
    printf("counter\t%s\t%u\n", counter->path, (unsigned)info->dwType);
    PdhGetCounterTimeBase(counter->counter, &base);
    for (at = 0; at < counter->n_newer; at++) {
        const char *name = counter->newer[at].szName;
        int before = only(counter->older, counter->n_older, name);
        PDH_FMT_COUNTERVALUE value = {0};
        PDH_STATUS status;
        if (before < 0 || only(counter->newer, counter->n_newer, name) < 0 || counter->n_shown != counter->n_newer) continue;
        status = PdhCalculateCounterFromRawValue(counter->counter, PDH_FMT_DOUBLE | PDH_FMT_NOCAP100,
                                                 &counter->newer[at].RawValue, &counter->older[before].RawValue, &value);
        printf("value\t%s\t%s\t%u\t%lld\t", counter->path, name, (unsigned)info->dwType, (long long)base);
        print_raw(&counter->older[before].RawValue);
        print_raw(&counter->newer[at].RawValue);
        printf("%08X\t%.17g\t%08X\t%.17g\n", (unsigned)status, status ? 0.0 : value.doubleValue,
               (unsigned)counter->shown[at].FmtValue.CStatus,
               counter->shown[at].FmtValue.CStatus ? 0.0 : counter->shown[at].FmtValue.doubleValue);
    }
    free(info);
}

int main(int argc, char **argv) {
    PDH_HQUERY query;
    int at;
    if (PdhOpenQueryA(NULL, 0, &query)) return 1;
    for (at = 1; at < argc; at++) {
        /* Counters one by one, instances as a wildcard. */
        DWORD size = 0;
        PDH_STATUS status = PdhExpandWildCardPathA(NULL, argv[at], NULL, &size, PDH_NOEXPANDINSTANCES);
        char *list, *path;
        if ((DWORD)status != PDH_MORE_DATA) fail(argv[at], status);
        list = malloc(size);
        if ((status = PdhExpandWildCardPathA(NULL, argv[at], list, &size, PDH_NOEXPANDINSTANCES))) fail(argv[at], status);
        for (path = list; *path && n_counters < MOST; path += strlen(path) + 1) {
            Counter *counter = &counters[n_counters++];
            counter->path = strdup(path);
            if ((status = PdhAddCounterA(query, path, 0, &counter->counter))) fail(path, status);
        }
        free(list);
    }
    if (PdhCollectQueryData(query)) return 1;
    for (at = 0; at < n_counters; at++) counters[at].older = raw_values(counters[at].counter, &counters[at].n_older);
    Sleep(50);
    if (PdhCollectQueryData(query)) return 1;
    for (at = 0; at < n_counters; at++) {
        Counter *counter = &counters[at];
        counter->newer = raw_values(counter->counter, &counter->n_newer);
        counter->shown = shown_values(counter->counter, &counter->n_shown);
        print_counter(counter);
        free(counter->path), free(counter->older), free(counter->newer), free(counter->shown);
    }
    return PdhCloseQuery(query);
}
