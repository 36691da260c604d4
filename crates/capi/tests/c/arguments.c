/* Handles that are none, places that are not there, sizes that are too small, and paths of every form: what every function
 * answers, see conformance.h. */
#define _GNU_SOURCE
#include "conformance.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static PDH_HQUERY query;
static PDH_HCOUNTER counter, other;
static PDH_FMT_COUNTERVALUE value;
static PDH_RAW_COUNTER raw;
static PDH_STATISTICS statistics;
static DWORD count;
static char text[65536];
static WCHAR wide[4096];

/* What was closed, was never opened, or is something else. */
static void handles(void) {
    static PDH_HQUERY closed;
    PDH_HLOG wrong[4];
    PDH_TIME_INFO info;
    int at;
    IS(ERROR_SUCCESS, PdhOpenQueryA(NULL, 0, &closed));
    IS(ERROR_SUCCESS, PdhCloseQuery(closed));
    wrong[0] = (PDH_HLOG)(size_t)0x12345678;
    wrong[1] = (PDH_HLOG)(size_t)-1;
    wrong[2] = (PDH_HLOG)closed;
    wrong[3] = (PDH_HLOG)query;
    for (at = 0; at < 4; at++) {
        IS(PDH_INVALID_HANDLE, PdhOpenQueryH(wrong[at], 0, &closed));
        IS(PDH_INVALID_HANDLE, PdhEnumMachinesHA(wrong[at], text, sized(sizeof text)));
        IS(PDH_INVALID_HANDLE, PdhEnumObjectsHA(wrong[at], NULL, text, sized(sizeof text), PERF_DETAIL_WIZARD, FALSE));
        IS(PDH_INVALID_HANDLE, PdhEnumObjectItemsHA(wrong[at], NULL, "System", text, sized(100), text, sized_too(100),
                                                    PERF_DETAIL_WIZARD, 0));
        IS(PDH_INVALID_HANDLE, PdhGetDefaultPerfObjectHA(wrong[at], NULL, text, sized(sizeof text)));
        IS(PDH_INVALID_HANDLE, PdhGetDefaultPerfCounterHA(wrong[at], NULL, "System", text, sized(sizeof text)));
        IS(PDH_INVALID_HANDLE, PdhExpandWildCardPathHA(wrong[at], "\\System\\*", text, sized(sizeof text), 0));
        IS(PDH_INVALID_HANDLE, PdhValidatePathExA(wrong[at], "\\System\\Processes"));
        IS(PDH_INVALID_HANDLE, PdhGetDataSourceTimeRangeH(wrong[at], &count, &info, sized(sizeof info)));
        IS(PDH_INVALID_HANDLE, PdhCloseLog(wrong[at], 0));
        IS(PDH_INVALID_HANDLE, PdhUpdateLogA(wrong[at], NULL));
        IS(PDH_INVALID_HANDLE, PdhUpdateLogFileCatalog(wrong[at]));
        IS(PDH_INVALID_HANDLE, PdhRemoveCounter((PDH_HCOUNTER)wrong[at]));
        IS(PDH_INVALID_HANDLE, PdhSetCounterScaleFactor((PDH_HCOUNTER)wrong[at], 1));
        IS(PDH_INVALID_HANDLE, PdhGetCounterInfoA((PDH_HCOUNTER)wrong[at], FALSE, sized(0), NULL));
        IS(PDH_INVALID_HANDLE, PdhGetRawCounterValue((PDH_HCOUNTER)wrong[at], NULL, &raw));
        IS(PDH_INVALID_HANDLE, PdhGetFormattedCounterValue((PDH_HCOUNTER)wrong[at], PDH_FMT_LONG, NULL, &value));
        IS(PDH_INVALID_HANDLE, PdhGetFormattedCounterArrayA((PDH_HCOUNTER)wrong[at], PDH_FMT_LONG, sized(0), &count, NULL));
        IS(PDH_INVALID_HANDLE, PdhGetRawCounterArrayW((PDH_HCOUNTER)wrong[at], sized(0), &count, NULL));
        IS(PDH_INVALID_HANDLE, PdhComputeCounterStatistics((PDH_HCOUNTER)wrong[at], PDH_FMT_LONG, 0, 1, &raw, &statistics));
        IS(PDH_INVALID_HANDLE, PdhCalculateCounterFromRawValue((PDH_HCOUNTER)wrong[at], PDH_FMT_LONG, &raw, &raw, &value));
        if (wrong[at] != (PDH_HLOG)query) {
            IS(PDH_INVALID_HANDLE, PdhAddCounterW((PDH_HQUERY)wrong[at], W("\\System\\Processes"), 0, &other));
            IS(PDH_INVALID_HANDLE, PdhAddEnglishCounterA((PDH_HQUERY)wrong[at], "\\System\\Processes", 0, &other));
            IS(PDH_INVALID_HANDLE, PdhCollectQueryData((PDH_HQUERY)wrong[at]));
            IS(PDH_INVALID_HANDLE, PdhCloseQuery((PDH_HQUERY)wrong[at]));
            IS(FALSE, PdhIsRealTimeQuery((PDH_HQUERY)wrong[at]));
        }
    }
}

/* Places for results that are not there. */
static void places(void) {
    PDH_TIME_INFO info = {0};
    IS(PDH_INVALID_ARGUMENT, PdhOpenQueryW(NULL, 0, NULL));
    IS(PDH_INVALID_ARGUMENT, PdhOpenQueryH(NULL, 0, NULL));
    IS(PDH_INVALID_ARGUMENT, PdhAddEnglishCounterW(query, NULL, 0, &other));
    IS(PDH_INVALID_ARGUMENT, PdhAddEnglishCounterW(query, W("\\System\\Processes"), 0, NULL));
    IS(PDH_INVALID_ARGUMENT, PdhSetQueryTimeRange(query, NULL));
    IS(PDH_INVALID_ARGUMENT, PdhBindInputDataSourceW(NULL, NULL));
    IS(PDH_INVALID_ARGUMENT, PdhEnumMachinesW(NULL, NULL, NULL));
    IS(PDH_INVALID_ARGUMENT, PdhEnumObjectsW(NULL, NULL, NULL, sized(10), PERF_DETAIL_WIZARD, FALSE));
    IS(PDH_INVALID_ARGUMENT, PdhEnumObjectItemsW(NULL, NULL, W("System"), NULL, NULL, NULL, NULL, PERF_DETAIL_WIZARD, 0));
    IS(PDH_INVALID_ARGUMENT, PdhGetDefaultPerfObjectW(NULL, NULL, wide, NULL));
    IS(PDH_INVALID_ARGUMENT, PdhGetDefaultPerfCounterW(NULL, NULL, NULL, wide, sized(100)));
    IS(PDH_INVALID_ARGUMENT, PdhGetDefaultPerfCounterW(NULL, NULL, W("System"), wide, NULL));
    IS(PDH_INVALID_ARGUMENT, PdhGetDataSourceTimeRangeW(NULL, &count, NULL, sized(24)));
    IS(PDH_INVALID_ARGUMENT, PdhGetDataSourceTimeRangeW(NULL, &count, &info, NULL));
    IS(PDH_INVALID_ARGUMENT, PdhExpandCounterPathA(NULL, text, sized(sizeof text)));
    IS(PDH_INVALID_ARGUMENT, PdhExpandCounterPathA("\\System\\*", text, NULL));
    IS(PDH_INVALID_ARGUMENT, PdhExpandWildCardPathW(NULL, W("\\System\\*"), wide, sized(4096), 0x80));
    IS(PDH_INVALID_ARGUMENT, PdhParseCounterPathW(W("\\a\\b"), NULL, NULL, 0));
    IS(PDH_INVALID_ARGUMENT, PdhParseInstanceNameA("a/b", text, sized(100), text, NULL, &count));
    IS(PDH_INVALID_ARGUMENT, PdhMakeCounterPathW(NULL, wide, sized(100), 0));
    IS(PDH_INVALID_ARGUMENT, PdhLookupPerfIndexByNameW(NULL, NULL, &count));
    IS(PDH_INVALID_ARGUMENT, PdhGetCounterTimeBase(counter, NULL));
    IS(PDH_INVALID_ARGUMENT, PdhComputeCounterStatistics(counter, PDH_FMT_LONG, 0, 1, &raw, NULL));
    IS(PDH_INVALID_ARGUMENT, PdhComputeCounterStatistics(counter, PDH_FMT_RAW, 0, 1, &raw, &statistics));
    IS(PDH_INVALID_ARGUMENT, PdhFormatFromRawValue(PERF_COUNTER_RAWCOUNT, PDH_FMT_LONG, NULL, NULL, NULL, &value));
    IS(PDH_INVALID_ARGUMENT, PdhFormatFromRawValue(PERF_COUNTER_RAWCOUNT, PDH_FMT_LONG, NULL, &raw, NULL, NULL));
}

/* A query of which nothing has data says so, and works when something comes. */
static void nothing(void) {
    PDH_HQUERY empty;
    IS(ERROR_SUCCESS, PdhOpenQueryA(NULL, 0, &empty));
    IS(ERROR_SUCCESS, PdhAddCounterA(empty, "\\Process(no such one)\\ID Process", 0, &other));
    IS(PDH_NO_DATA, PdhCollectQueryData(empty));
    IS(PDH_INVALID_DATA, PdhGetFormattedCounterValue(other, PDH_FMT_LONG, NULL, &value));
    IS(PDH_CSTATUS_NO_INSTANCE, value.CStatus);
    IS(ERROR_SUCCESS, PdhAddCounterA(empty, "\\System\\Processes", 0, &other));
    IS(ERROR_SUCCESS, PdhCollectQueryData(empty));
    IS(ERROR_SUCCESS, PdhRemoveCounter(other));
    IS(PDH_NO_DATA, PdhCollectQueryData(empty));
    IS(ERROR_SUCCESS, PdhCloseQuery(empty));
}

/* An instance that comes later and goes again, by its name and by a pattern. */
static void later(void) {
    PDH_HQUERY query;
    PDH_HCOUNTER named, wild;
    char name[16], path[64];
    int waits = 0;
    pid_t child;
    /* Nobody else who runs this program has the name. */
    snprintf(name, sizeof name, "late%dx", (int)getpid());
    IS(ERROR_SUCCESS, PdhOpenQueryA(NULL, 0, &query));
    snprintf(path, sizeof path, "\\Process(%s)\\ID Process", name);
    IS(ERROR_SUCCESS, PdhAddCounterA(query, path, 0, &named));
    snprintf(path, sizeof path, "\\Process(%s*)\\ID Process", name);
    IS(ERROR_SUCCESS, PdhAddCounterA(query, path, 0, &wild));
    IS(PDH_NO_DATA, PdhCollectQueryData(query));
    IS(PDH_INVALID_DATA, PdhGetFormattedCounterArrayA(wild, PDH_FMT_LONG, sized(0), &count, NULL));
    child = fork();
    if (!child) {
        prctl(PR_SET_NAME, name);
        for (;;) pause();
    }
    /* It has to give itself its name. */
    while (PdhCollectQueryData(query) && waits++ < 500) Sleep(10);
    IS(ERROR_SUCCESS, PdhGetFormattedCounterValue(named, PDH_FMT_LONG, NULL, &value));
    IS(child, value.longValue);
    IS(ERROR_SUCCESS,
       PdhGetFormattedCounterArrayA(wild, PDH_FMT_LONG, sized(sizeof text), &count, (PDH_FMT_COUNTERVALUE_ITEM_A *)text));
    IS(1, count);
    IS(0, strcmp(((PDH_FMT_COUNTERVALUE_ITEM_A *)text)->szName, name));
    IS(child, ((PDH_FMT_COUNTERVALUE_ITEM_A *)text)->FmtValue.longValue);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    IS(PDH_NO_DATA, PdhCollectQueryData(query));
    IS(PDH_INVALID_DATA, PdhGetFormattedCounterValue(named, PDH_FMT_LONG, NULL, &value));
    IS(PDH_CSTATUS_NO_INSTANCE, value.CStatus);
    IS(ERROR_SUCCESS, PdhCloseQuery(query));
}

/* Every form of a path, and what is wrong with those that are none. */
static void forms(void) {
    static const struct {
        const char *path;
        PDH_STATUS status;
    } paths[] = {
        {"\\System\\Processes", ERROR_SUCCESS},
        {"\\\\.\\System\\Processes", ERROR_SUCCESS},
        {"\\\\localhost\\System\\Processes", ERROR_SUCCESS},
        {"\\SYSTEM\\processes", ERROR_SUCCESS},
        {"\\2\\248", ERROR_SUCCESS},
        {"\\Processor(0)\\% Processor Time", ERROR_SUCCESS},
        {"\\Processor(*)\\% Processor Time", ERROR_SUCCESS},
        {"\\Processor(_T*)\\% Processor Time", ERROR_SUCCESS},
        {"\\Processor(0)\\*", ERROR_SUCCESS},
        {"\\Processor(0)\\% *", ERROR_SUCCESS},
        {"\\Processor(0#1)\\% Processor Time", ERROR_SUCCESS},
        {"\\Processor(*#*)\\% Processor Time", ERROR_SUCCESS},
        {"\\Thread(*/0)\\ID Thread", ERROR_SUCCESS},
        {"\\Thread(*/*#*)\\ID Thread", ERROR_SUCCESS},
        {"\\Thread(none/0#3)\\ID Thread", ERROR_SUCCESS},
        {"\\Memory\\*", ERROR_SUCCESS},
        {"\\System", (PDH_STATUS)PDH_CSTATUS_BAD_COUNTERNAME},
        {"\\System\\", (PDH_STATUS)PDH_CSTATUS_BAD_COUNTERNAME},
        {"\\\\System", (PDH_STATUS)PDH_CSTATUS_BAD_COUNTERNAME},
        {"\\", (PDH_STATUS)PDH_CSTATUS_BAD_COUNTERNAME},
        {"\\Processor(0\\% Processor Time", (PDH_STATUS)PDH_CSTATUS_BAD_COUNTERNAME},
        {"\\*\\Processes", (PDH_STATUS)PDH_CSTATUS_NO_OBJECT},
        {"\\Sys*\\Processes", (PDH_STATUS)PDH_CSTATUS_NO_OBJECT},
        {"\\System\\No Counter", (PDH_STATUS)PDH_CSTATUS_NO_COUNTER},
        {"\\System\\No *", (PDH_STATUS)PDH_CSTATUS_NO_COUNTER},
        {"\\System(0)\\Processes", (PDH_STATUS)PDH_CSTATUS_NO_INSTANCE},
        {"\\Processor\\% Processor Time", (PDH_STATUS)PDH_CSTATUS_NO_INSTANCE},
    };
    size_t at;
    for (at = 0; at < sizeof paths / sizeof *paths; at++) {
        PDH_STATUS status = PdhAddCounterA(query, paths[at].path, 0, &other);
        line(paths[at].path, (unsigned)status, (unsigned)paths[at].status, &same);
        if (!status) IS(ERROR_SUCCESS, PdhRemoveCounter(other));
    }
    IS(PDH_CSTATUS_NO_COUNTERNAME, PdhAddCounterA(query, "", 0, &other));
    /* Longer than any path is. */
    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = 0;
    IS(PDH_CSTATUS_BAD_COUNTERNAME, PdhAddCounterA(query, text, 0, &other));
    memcpy(text, "\\System\\", 8);
    IS(PDH_CSTATUS_NO_COUNTER, PdhAddCounterA(query, text, 0, &other));
    memcpy(text, "\\Processor(", 11);
    memcpy(text + sizeof text - 20, ")\\% Processor Time", 19);
    IS(ERROR_SUCCESS, PdhAddCounterA(query, text, 0, &other));
    IS(ERROR_SUCCESS, PdhRemoveCounter(other));
    IS(PDH_CSTATUS_NO_INSTANCE, PdhValidatePathA(text));
}

/* The same name in parts that need room of their own. */
static void rooms(void) {
    DWORD needed;
    IS(PDH_MORE_DATA, PdhGetDefaultPerfObjectA(NULL, NULL, NULL, sized(0)));
    IS(sizeof "Processor", size);
    IS(PDH_MORE_DATA, PdhGetDefaultPerfObjectA(NULL, NULL, text, sized(size - 1)));
    IS(ERROR_SUCCESS, PdhGetDefaultPerfObjectA(NULL, NULL, text, sized(size)));
    IS(PDH_MORE_DATA, PdhEnumObjectItemsA(NULL, NULL, "Processor", NULL, sized(0), NULL, sized_too(0), PERF_DETAIL_WIZARD, 0));
    needed = size;
    /* One of the two has room. */
    IS(PDH_MORE_DATA, PdhEnumObjectItemsA(NULL, NULL, "Processor", text, sized(needed), NULL, sized_too(0), PERF_DETAIL_WIZARD, 0));
    IS(PDH_MORE_DATA, PdhExpandWildCardPathA(NULL, "\\Processor(*)\\*", text, sized(10), 0));
    IS(PDH_MORE_DATA, PdhGetCounterInfoA(counter, TRUE, sized(20), (PDH_COUNTER_INFO_A *)text));
    IS(1, size > sizeof(PDH_COUNTER_INFO_A));
    size = more = 1;
    IS(PDH_MORE_DATA, PdhParseInstanceNameA("app/0#3", text, &size, text + 100, &more, &count));
    IS(1, size == 2 && more == 4);
    /* Levels: what everybody understands is less than all. */
    IS(ERROR_SUCCESS, PdhEnumObjectsA(NULL, NULL, text, sized(sizeof text), PERF_DETAIL_NOVICE, FALSE));
    needed = size;
    IS(ERROR_SUCCESS, PdhEnumObjectsA(NULL, NULL, text, sized(sizeof text), PERF_DETAIL_WIZARD, FALSE));
    IS(1, needed <= size);
}

int main(void) {
    IS(ERROR_SUCCESS, PdhOpenQueryA(NULL, 0, &query));
    IS(ERROR_SUCCESS, PdhAddCounterA(query, "\\System\\Processes", 0, &counter));
    IS(ERROR_SUCCESS, PdhCollectQueryData(query));
    handles();
    places();
    nothing();
    later();
    forms();
    rooms();
    IS(ERROR_SUCCESS, PdhCloseQuery(query));
    return summary();
}
