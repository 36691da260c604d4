/* What every function answers: one line for each call, with the status of NT, see conformance.h. The first argument is a log of Windows, or "";
 * the second one a folder that logs can be written to.
 */
#include "conformance.h"
#include <loadperf.h>

static PDH_HQUERY query, empty;
static PDH_HCOUNTER counter, missing, wild, share;
static PDH_FMT_COUNTERVALUE value;
static PDH_RAW_COUNTER raw, older;
static PDH_STATISTICS statistics;
static DWORD count;
static LONGLONG time_of;
static char bytes[65536];
static WCHAR wide[65536];
static HANDLE event;

static void queries(void) {
    IS(PDH_INVALID_ARGUMENT, PdhOpenQueryA(NULL, 0, NULL));
    IS(ERROR_SUCCESS, PdhOpenQueryA(NULL, 7, &query));
    IS(ERROR_SUCCESS, PdhOpenQueryW(NULL, 0, &empty));
    IS(PDH_FILE_NOT_FOUND, PdhOpenQueryA("/nothing/there.blg", 0, &share));
    IS(PDH_INVALID_ARGUMENT, PdhGetDllVersion(NULL));
    IS(ERROR_SUCCESS, PdhGetDllVersion(&count));
    IS(PDH_VERSION, count);
    IS(TRUE, PdhIsRealTimeQuery(query));
    IS(FALSE, PdhIsRealTimeQuery(NULL));
    IS(PDH_INVALID_ARGUMENT, PdhAddCounterA(NULL, NULL, 0, NULL));
    IS(PDH_INVALID_ARGUMENT, PdhAddCounterA(query, NULL, 0, &counter));
    IS(PDH_INVALID_ARGUMENT, PdhAddCounterA(query, "\\System\\Processes", 0, NULL));
    IS(PDH_INVALID_HANDLE, PdhAddCounterA(NULL, "\\System\\Processes", 0, &counter));
    IS(PDH_CSTATUS_NO_COUNTER, PdhAddCounterA(query, "\\System\\System Down Time", 0, &counter));
    IS(PDH_CSTATUS_NO_OBJECT, PdhAddCounterA(query, "\\Nothing\\Processes", 0, &counter));
    IS(PDH_CSTATUS_NO_INSTANCE, PdhAddCounterA(query, "\\Processor\\% Processor Time", 0, &counter));
    IS(PDH_CSTATUS_BAD_COUNTERNAME, PdhAddCounterA(query, "\\System", 0, &counter));
    IS(PDH_CSTATUS_NO_MACHINE, PdhAddCounterA(query, "\\\\elsewhere\\System\\Processes", 0, &counter));
    IS(ERROR_SUCCESS, PdhAddCounterA(query, "\\System\\Processes", 9, &counter));
    IS(ERROR_SUCCESS, PdhAddCounterW(query, W("\\Process(no such one)\\ID Process"), 0, &missing));
    IS(ERROR_SUCCESS, PdhAddEnglishCounterA(query, "\\Processor(*)\\% Processor Time", 0, &wild));
    IS(ERROR_SUCCESS, PdhAddEnglishCounterW(query, W("\\Processor(_Total)\\% Processor Time"), 0, &share));
    /* Names of other languages are known, but are not English. */
    IS(PDH_CSTATUS_NO_OBJECT, PdhAddEnglishCounterA(query, "\\메모리\\Available Bytes", 0, &counter));
    /* Before the first sample. */
    IS(PDH_INVALID_ARGUMENT, PdhGetFormattedCounterValue(NULL, PDH_FMT_LARGE, NULL, NULL));
    IS(PDH_INVALID_HANDLE, PdhGetFormattedCounterValue(NULL, PDH_FMT_LARGE, NULL, &value));
    IS(PDH_INVALID_ARGUMENT, PdhGetFormattedCounterValue(counter, PDH_FMT_LARGE, NULL, NULL));
    IS(PDH_INVALID_DATA, PdhGetFormattedCounterValue(counter, PDH_FMT_LARGE, NULL, &value));
    IS(PDH_INVALID_DATA, PdhGetRawCounterValue(counter, NULL, &raw));
    IS(PDH_INVALID_HANDLE, PdhCollectQueryData(NULL));
    IS(PDH_NO_DATA, PdhCollectQueryData(empty));
    IS(PDH_INVALID_ARGUMENT, PdhCollectQueryDataWithTime(NULL, NULL));
    IS(PDH_INVALID_HANDLE, PdhCollectQueryDataWithTime(NULL, &time_of));
    IS(PDH_INVALID_ARGUMENT, PdhCollectQueryDataWithTime(query, NULL));
    IS(PDH_NO_DATA, PdhCollectQueryDataWithTime(empty, &time_of));
    IS(PDH_INVALID_HANDLE, PdhCollectQueryDataEx(NULL, 1, NULL));
    IS(PDH_NO_DATA, PdhCollectQueryDataEx(empty, 1, NULL));
    IS(ERROR_SUCCESS, PdhCollectQueryDataWithTime(query, &time_of));
    IS(1, time_of > 130000000000000000LL);
    IS(PDH_INVALID_HANDLE, PdhSetQueryTimeRange(NULL, (PPDH_TIME_INFO)bytes));
    IS(PDH_DATA_SOURCE_IS_REAL_TIME, PdhSetQueryTimeRange(query, (PPDH_TIME_INFO)bytes));
}

static void values(void) {
    IS(ERROR_SUCCESS, PdhGetFormattedCounterValue(counter, PDH_FMT_LONG, &count, &value));
    IS(PERF_COUNTER_RAWCOUNT, count);
    IS(PDH_CSTATUS_VALID_DATA, value.CStatus);
    IS(1, value.longValue > 0);
    IS(ERROR_SUCCESS, PdhGetFormattedCounterValue(counter, PDH_FMT_DOUBLE | PDH_FMT_1000, NULL, &value));
    IS(1, value.doubleValue >= 1000.0);
    IS(PDH_INVALID_ARGUMENT, PdhGetFormattedCounterValue(counter, 0, NULL, &value));
    IS(PDH_INVALID_ARGUMENT, PdhGetFormattedCounterValue(counter, PDH_FMT_LONG | PDH_FMT_DOUBLE, NULL, &value));
    IS(PDH_INVALID_ARGUMENT, PdhGetFormattedCounterValue(counter, PDH_FMT_DOUBLE | PDH_FMT_RAW, NULL, &value));
    IS(PDH_INVALID_DATA, PdhGetFormattedCounterValue(missing, PDH_FMT_LONG, NULL, &value));
    IS(PDH_CSTATUS_NO_INSTANCE, value.CStatus);
    IS(PDH_INVALID_DATA, PdhGetFormattedCounterValue(share, PDH_FMT_DOUBLE, NULL, &value));
    IS(PDH_CSTATUS_INVALID_DATA, value.CStatus);
    IS(PDH_INVALID_ARGUMENT, PdhGetRawCounterValue(counter, NULL, NULL));
    IS(PDH_INVALID_HANDLE, PdhGetRawCounterValue(NULL, NULL, &raw));
    IS(ERROR_SUCCESS, PdhGetRawCounterValue(share, &count, &older));
    IS(PERF_100NSEC_TIMER_INV, count);
    Sleep(50);
    IS(ERROR_SUCCESS, PdhCollectQueryData(query));
    IS(ERROR_SUCCESS, PdhGetFormattedCounterValue(share, PDH_FMT_DOUBLE | PDH_FMT_NOCAP100, NULL, &value));
    IS(ERROR_SUCCESS, PdhGetRawCounterValue(share, NULL, &raw));
    /* Scales. */
    IS(PDH_INVALID_HANDLE, PdhSetCounterScaleFactor(NULL, 8));
    IS(PDH_INVALID_ARGUMENT, PdhSetCounterScaleFactor(counter, 8));
    IS(PDH_INVALID_ARGUMENT, PdhSetCounterScaleFactor(counter, -8));
    IS(ERROR_SUCCESS, PdhSetCounterScaleFactor(counter, 7));
    IS(ERROR_SUCCESS, PdhGetFormattedCounterValue(counter, PDH_FMT_LARGE, NULL, &value));
    IS(1, value.largeValue >= 10000000);
    IS(ERROR_SUCCESS, PdhGetFormattedCounterValue(counter, PDH_FMT_LARGE | PDH_FMT_NOSCALE, NULL, &value));
    IS(1, value.largeValue < 10000000);
    IS(ERROR_SUCCESS, PdhSetCounterScaleFactor(counter, 0));
    /* Computing from raw values. */
    IS(PDH_INVALID_ARGUMENT, PdhCalculateCounterFromRawValue(share, PDH_FMT_DOUBLE, NULL, &older, &value));
    IS(PDH_INVALID_HANDLE, PdhCalculateCounterFromRawValue(NULL, PDH_FMT_DOUBLE, &raw, &older, &value));
    IS(ERROR_SUCCESS, PdhCalculateCounterFromRawValue(share, PDH_FMT_DOUBLE, &raw, &older, &value));
    IS(PDH_INVALID_DATA, PdhCalculateCounterFromRawValue(share, PDH_FMT_DOUBLE, &raw, NULL, &value));
    IS(PDH_CALC_NEGATIVE_TIMEBASE, PdhCalculateCounterFromRawValue(share, PDH_FMT_DOUBLE, &older, &raw, &value));
    older.SecondValue = raw.SecondValue - 1000;
    older.FirstValue = raw.FirstValue + 1;
    IS(PDH_CALC_NEGATIVE_VALUE, PdhCalculateCounterFromRawValue(share, PDH_FMT_DOUBLE, &raw, &older, &value));
    IS(PDH_CALC_NEGATIVE_VALUE, value.CStatus);
    time_of = 10000000;
    IS(PDH_INVALID_ARGUMENT, PdhFormatFromRawValue(0x12345678, PDH_FMT_DOUBLE, &time_of, &raw, &older, &value));
    IS(PDH_INVALID_ARGUMENT, PdhFormatFromRawValue(PERF_RAW_BASE, PDH_FMT_DOUBLE, &time_of, &raw, &older, &value));
    older.FirstValue = raw.FirstValue - 500;
    IS(ERROR_SUCCESS, PdhFormatFromRawValue(PERF_100NSEC_TIMER, PDH_FMT_DOUBLE, &time_of, &raw, &older, &value));
    IS(1, value.doubleValue == 50.0);
    IS(ERROR_SUCCESS, PdhFormatFromRawValue(PERF_100NSEC_TIMER, PDH_FMT_LONG, &time_of, &raw, &older, &value));
    IS(50, value.longValue);
    older.FirstValue = raw.FirstValue - 3000;
    IS(ERROR_SUCCESS, PdhFormatFromRawValue(PERF_100NSEC_TIMER, PDH_FMT_LONG, &time_of, &raw, &older, &value));
    IS(100, value.longValue);
    IS(ERROR_SUCCESS,
       PdhFormatFromRawValue(PERF_100NSEC_TIMER, PDH_FMT_LONG | PDH_FMT_NOCAP100, &time_of, &raw, &older, &value));
    IS(300, value.longValue);
    /* Time base, statistics. */
    IS(PDH_INVALID_ARGUMENT, PdhGetCounterTimeBase(NULL, NULL));
    IS(PDH_INVALID_HANDLE, PdhGetCounterTimeBase(NULL, &time_of));
    IS(ERROR_SUCCESS, PdhGetCounterTimeBase(share, &time_of));
    IS(10000000, time_of);
    /* A number of things is not divided by a time. */
    IS(PDH_INVALID_ARGUMENT, PdhGetCounterTimeBase(counter, &time_of));
    {
        /* The oldest is in the middle: 10, 20, 40, 80. */
        PDH_RAW_COUNTER ring[4];
        DWORD at, numbers[4] = {40, 80, 10, 20};
        memset(ring, 0, sizeof ring);
        for (at = 0; at < 4; at++) ring[at].FirstValue = numbers[at];
        IS(PDH_INVALID_ARGUMENT, PdhComputeCounterStatistics(counter, PDH_FMT_DOUBLE, 2, 4, NULL, &statistics));
        IS(PDH_INVALID_ARGUMENT, PdhComputeCounterStatistics(counter, PDH_FMT_DOUBLE, 4, 4, ring, &statistics));
        IS(PDH_INVALID_HANDLE, PdhComputeCounterStatistics(NULL, PDH_FMT_DOUBLE, 2, 4, ring, &statistics));
        IS(ERROR_SUCCESS, PdhComputeCounterStatistics(counter, PDH_FMT_DOUBLE, 2, 4, ring, &statistics));
        IS(4, statistics.count);
        IS(1, statistics.min.doubleValue == 10 && statistics.max.doubleValue == 80 && statistics.mean.doubleValue == 37.5);
    }
}

static void arrays(void) {
    PDH_FMT_COUNTERVALUE_ITEM_W *items = (PDH_FMT_COUNTERVALUE_ITEM_W *)wide;
    PDH_COUNTER_INFO_A *info = (PDH_COUNTER_INFO_A *)bytes;
    IS(PDH_INVALID_ARGUMENT, PdhGetFormattedCounterArrayW(wild, PDH_FMT_DOUBLE, NULL, &count, NULL));
    IS(PDH_INVALID_ARGUMENT, PdhGetFormattedCounterArrayW(wild, PDH_FMT_DOUBLE, sized(10), &count, NULL));
    IS(PDH_MORE_DATA, PdhGetFormattedCounterArrayW(wild, PDH_FMT_DOUBLE, sized(0), &count, NULL));
    IS(1, count >= 2 && size > count * sizeof *items);
    IS(PDH_MORE_DATA, PdhGetFormattedCounterArrayW(wild, PDH_FMT_DOUBLE, sized(size - 1), &count, items));
    IS(ERROR_SUCCESS, PdhGetFormattedCounterArrayW(wild, PDH_FMT_DOUBLE, sized(size), &count, items));
    IS(0, wcscmp(items[count - 1].szName, L"_Total"));
    IS(PDH_MORE_DATA, PdhGetRawCounterArrayA(wild, sized(0), &count, NULL));
    IS(ERROR_SUCCESS, PdhGetRawCounterArrayA(wild, sized(sizeof bytes), &count, (PPDH_RAW_COUNTER_ITEM_A)bytes));
    IS(0, strcmp(((PPDH_RAW_COUNTER_ITEM_A)bytes)[0].szName, "0"));
    IS(PDH_INVALID_HANDLE, PdhGetRawCounterArrayA(NULL, sized(0), &count, NULL));
    IS(PDH_INVALID_ARGUMENT, PdhGetCounterInfoA(counter, FALSE, NULL, NULL));
    IS(PDH_MORE_DATA, PdhGetCounterInfoA(share, TRUE, sized(0), NULL));
    IS(ERROR_SUCCESS, PdhGetCounterInfoA(share, TRUE, sized(sizeof bytes), info));
    IS(PERF_100NSEC_TIMER_INV, info->dwType);
    IS(0, strcmp(info->szObjectName, "Processor") | strcmp(info->szInstanceName, "_Total") |
              strcmp(info->szCounterName, "% Processor Time"));
    IS(1, info->szExplainText != NULL && strlen(info->szExplainText) > 20 && info->dwQueryUserData == 7);
    IS(ERROR_SUCCESS, PdhGetCounterInfoA(counter, FALSE, sized(sizeof bytes), info));
    IS(1, info->szExplainText == NULL && info->dwUserData == 9 && info->szInstanceName == NULL);
}

static void names(void) {
    IS(PDH_INVALID_ARGUMENT, PdhLookupPerfIndexByNameA(NULL, NULL, NULL));
    IS(PDH_INVALID_ARGUMENT, PdhLookupPerfIndexByNameA(NULL, "% Processor Time", NULL));
    IS(PDH_STRING_NOT_FOUND, PdhLookupPerfIndexByNameA(NULL, "No Counter", &count));
    IS(ERROR_SUCCESS, PdhLookupPerfIndexByNameA(NULL, "% Processor Time", &count));
    IS(6, count);
    IS(ERROR_SUCCESS, PdhLookupPerfIndexByNameW(NULL, W("System Up Time"), &count));
    IS(674, count);
    IS(PDH_INVALID_ARGUMENT, PdhLookupPerfNameByIndexA(NULL, 0, NULL, NULL));
    IS(PDH_MORE_DATA, PdhLookupPerfNameByIndexA(NULL, 6, NULL, sized(0)));
    IS(sizeof("% Processor Time"), size);
    IS(PDH_INSUFFICIENT_BUFFER, PdhLookupPerfNameByIndexA(NULL, 6, bytes, sized(1)));
    IS(ERROR_SUCCESS, PdhLookupPerfNameByIndexA(NULL, 6, bytes, sized(sizeof bytes)));
    IS(0, strcmp(bytes, "% Processor Time"));
    IS(PDH_STRING_NOT_FOUND, PdhLookupPerfNameByIndexA(NULL, 0xFFFFFF, bytes, sized(sizeof bytes)));
    IS(PDH_CANNOT_CONNECT_MACHINE, PdhLookupPerfNameByIndexA("\\\\elsewhere", 6, bytes, sized(sizeof bytes)));
    IS(PDH_CANNOT_CONNECT_MACHINE, PdhLookupPerfIndexByNameA("elsewhere", "System", &count));
    IS(PDH_CSTATUS_NO_MACHINE, PdhConnectMachineA("elsewhere"));
    IS(ERROR_SUCCESS, PdhConnectMachineA(NULL));
    IS(PDH_INVALID_ARGUMENT, PdhEnumObjectsA(NULL, NULL, NULL, NULL, PERF_DETAIL_WIZARD, TRUE));
    IS(PDH_MORE_DATA, PdhEnumObjectsA(NULL, NULL, NULL, sized(0), PERF_DETAIL_WIZARD, TRUE));
    IS(ERROR_SUCCESS, PdhEnumObjectsA(NULL, NULL, bytes, sized(size), PERF_DETAIL_WIZARD, FALSE));
    IS(1, bytes[size - 1] == 0 && bytes[size - 2] == 0);
    IS(PDH_CSTATUS_NO_MACHINE, PdhEnumObjectsA(NULL, "\\\\elsewhere", bytes, sized(10), PERF_DETAIL_WIZARD, FALSE));
    IS(PDH_CSTATUS_NO_MACHINE, PdhEnumObjectItemsA(NULL, "\\\\elsewhere", "System", bytes, sized(10), bytes, sized_too(10),
                                                   PERF_DETAIL_WIZARD, 0));
    IS(PDH_CSTATUS_NO_MACHINE, PdhGetDefaultPerfCounterA(NULL, "elsewhere", "System", bytes, sized(10)));
    IS(PDH_CSTATUS_NO_OBJECT,
       PdhEnumObjectItemsA(NULL, NULL, "Nothing", NULL, sized(0), NULL, sized_too(0), PERF_DETAIL_WIZARD, 0));
    IS(PDH_INVALID_ARGUMENT,
       PdhEnumObjectItemsA(NULL, NULL, NULL, NULL, sized(0), NULL, sized_too(0), PERF_DETAIL_WIZARD, 0));
    IS(PDH_MORE_DATA,
       PdhEnumObjectItemsA(NULL, NULL, "Processor", NULL, sized(0), NULL, sized_too(0), PERF_DETAIL_WIZARD, 0));
    IS(1, size > 2 && more > 2);
    IS(ERROR_SUCCESS, PdhEnumObjectItemsA(NULL, NULL, "Memory", bytes, sized(sizeof bytes), (char *)wide,
                                          sized_too(sizeof wide), PERF_DETAIL_WIZARD, 0));
    IS(0, more);
    IS(ERROR_SUCCESS, PdhEnumMachinesA(NULL, bytes, sized(sizeof bytes)));
    IS(0, strncmp(bytes, "\\\\", 2));
    IS(ERROR_SUCCESS, PdhGetDefaultPerfObjectA(NULL, NULL, bytes, sized(sizeof bytes)));
    IS(0, strcmp(bytes, "Processor"));
    IS(ERROR_SUCCESS, PdhGetDefaultPerfCounterA(NULL, NULL, "Processor", bytes, sized(sizeof bytes)));
    IS(0, strcmp(bytes, "% Processor Time"));
    IS(PDH_CSTATUS_NO_OBJECT, PdhGetDefaultPerfCounterA(NULL, NULL, "Nothing", bytes, sized(sizeof bytes)));
}

static void paths(void) {
    PDH_COUNTER_PATH_ELEMENTS_A elements, *parsed = (PDH_COUNTER_PATH_ELEMENTS_A *)bytes;
    static const struct {
        const char *path, *object, *parent, *instance, *counter;
        DWORD index;
    } forms[] = {
        {"\\\\host\\Thread(app/0#2)\\ID Thread", "Thread", "app", "0", "ID Thread", 2},
        {"\\Processor(_Total)\\% Processor Time", "Processor", NULL, "_Total", "% Processor Time", (DWORD)-1},
        {"\\Memory\\Available Bytes", "Memory", NULL, NULL, "Available Bytes", (DWORD)-1},
        {"\\Paging File(\\??\\C:\\pagefile.sys)\\% Usage", "Paging File", NULL, "\\??\\C:\\pagefile.sys", "% Usage", (DWORD)-1},
        {"\\WF (System.Workflow) 4.0.0.0(w3wp)\\Workflows", "WF (System.Workflow) 4.0.0.0", NULL, "w3wp", "Workflows", (DWORD)-1},
        {"\\SQLServer:Databases(x)\\Data File(s) Size (KB)", "SQLServer:Databases", NULL, "x", "Data File(s) Size (KB)", (DWORD)-1},
        {"\\Process(C# compiler)\\ID Process", "Process", NULL, "C# compiler", "ID Process", (DWORD)-1},
        {"\\Process(*)\\*", "Process", NULL, "*", "*", (DWORD)-1},
    };
    size_t at;
    IS(PDH_INVALID_ARGUMENT, PdhParseCounterPathA(NULL, parsed, sized(sizeof bytes), 0));
    IS(PDH_INVALID_ARGUMENT, PdhParseCounterPathA("\\a\\b", parsed, NULL, 0));
    IS(PDH_MORE_DATA, PdhParseCounterPathA("\\a\\b", NULL, sized(0), 0));
    IS(PDH_INVALID_PATH, PdhParseCounterPathA("\\a", parsed, sized(sizeof bytes), 0));
    for (at = 0; at < sizeof forms / sizeof *forms; at++) {
        IS(ERROR_SUCCESS, PdhParseCounterPathA(forms[at].path, parsed, sized(sizeof bytes), 0));
        IS(0, strcmp(parsed->szObjectName, forms[at].object));
        IS(0, strcmp(parsed->szCounterName, forms[at].counter));
        IS(forms[at].index, parsed->dwInstanceIndex);
        IS(1, forms[at].instance ? !strcmp(parsed->szInstanceName, forms[at].instance) : !parsed->szInstanceName);
        IS(1, forms[at].parent ? !strcmp(parsed->szParentInstance, forms[at].parent) : !parsed->szParentInstance);
        /* And made again of its parts. */
        elements = *parsed;
        if (strncmp(forms[at].path, "\\\\", 2)) elements.szMachineName = NULL;
        IS(ERROR_SUCCESS, PdhMakeCounterPathA(&elements, (char *)wide, sized(sizeof wide), 0));
        IS(0, strcmp((char *)wide, forms[at].path));
    }
    memset(&elements, 0, sizeof elements);
    IS(PDH_INVALID_ARGUMENT, PdhMakeCounterPathA(&elements, bytes, sized(sizeof bytes), 0));
    elements.szObjectName = (LPSTR) "a";
    elements.szCounterName = (LPSTR) "b";
    IS(PDH_INVALID_ARGUMENT, PdhMakeCounterPathA(&elements, bytes, NULL, 0));
    IS(PDH_MORE_DATA, PdhMakeCounterPathA(&elements, bytes, sized(4), 0));
    IS(5, size);
    DIFFERS(PDH_NOT_IMPLEMENTED, ERROR_SUCCESS, "there are no WMI paths",
            PdhMakeCounterPathA(&elements, bytes, sized(sizeof bytes), PDH_PATH_WBEM_RESULT));
    size = more = 100;
    IS(ERROR_SUCCESS, PdhParseInstanceNameA("app/0#3", bytes, &size, bytes + 100, &more, &count));
    IS(0, strcmp(bytes, "0") | strcmp(bytes + 100, "app") | (count != 3));
    /* The index need not be asked for. */
    IS(ERROR_SUCCESS, PdhParseInstanceNameA("app/0#3", bytes, sized(100), bytes + 100, sized_too(100), NULL));
    IS(PDH_INVALID_ARGUMENT, PdhParseInstanceNameA(NULL, bytes, &size, bytes + 100, &more, &count));
    IS(PDH_INVALID_INSTANCE, PdhParseInstanceNameA("", bytes, &size, bytes + 100, &more, &count));
    memset(wide, 'a', MAX_PATH);
    ((char *)wide)[MAX_PATH] = 0;
    IS(PDH_INVALID_INSTANCE, PdhParseInstanceNameA((char *)wide, bytes, sized(1000), bytes + 1000, sized_too(1000), &count));
    ((char *)wide)[MAX_PATH - 1] = 0;
    IS(ERROR_SUCCESS, PdhParseInstanceNameA((char *)wide, bytes, sized(1000), bytes + 1000, sized_too(1000), &count));
    IS(PDH_INVALID_ARGUMENT, PdhValidatePathA(NULL));
    IS(PDH_INVALID_ARGUMENT, PdhValidatePathA(""));
    IS(PDH_CSTATUS_BAD_COUNTERNAME, PdhValidatePathA("\\System"));
    IS(PDH_CSTATUS_NO_COUNTER, PdhValidatePathA("\\System\\System Down Time"));
    IS(PDH_CSTATUS_NO_OBJECT, PdhValidatePathA("\\Nothing\\Processes"));
    IS(PDH_CSTATUS_NO_MACHINE, PdhValidatePathA("\\\\elsewhere\\System\\Processes"));
    IS(PDH_CSTATUS_NO_INSTANCE, PdhValidatePathW(W("\\Processor(none)\\% Processor Time")));
    IS(ERROR_SUCCESS, PdhValidatePathW(W("\\Processor(_Total)\\% Processor Time")));
    IS(ERROR_SUCCESS, PdhValidatePathExA(NULL, "\\System\\Processes"));
    DIFFERS(ERROR_SUCCESS, PDH_CSTATUS_BAD_COUNTERNAME, "a path need not begin with a backslash, which shells eat",
            PdhValidatePathA("System\\Processes"));
    IS(PDH_INVALID_ARGUMENT, PdhExpandWildCardPathA(NULL, NULL, bytes, sized(sizeof bytes), 0));
    IS(PDH_INVALID_ARGUMENT, PdhExpandWildCardPathA(NULL, "\\Processor(*)\\*", NULL, NULL, 0));
    IS(PDH_MORE_DATA, PdhExpandWildCardPathA(NULL, "\\Processor(*)\\*", NULL, sized(0), 0));
    IS(ERROR_SUCCESS, PdhExpandWildCardPathA(NULL, "\\Processor(*)\\*", bytes, sized(sizeof bytes), 0));
    IS(PDH_INVALID_PATH, PdhExpandWildCardPathA(NULL, "\\Memory(*)\\*", bytes, sized(sizeof bytes), 0));
    IS(ERROR_SUCCESS, PdhExpandWildCardPathA(NULL, "\\Memory\\*", bytes, sized(sizeof bytes), 0));
    IS(PDH_CSTATUS_NO_OBJECT, PdhExpandWildCardPathA(NULL, "\\Nothing(*)\\*", bytes, sized(sizeof bytes), 0));
    IS(ERROR_SUCCESS, PdhExpandCounterPathW(W("\\Processor(*)\\% Idle*"), wide, sized(1000)));
}

static void registry(void) {
    HKEY key = NULL;
    DWORD type = 0;
    memset(bytes, 0x55, sizeof bytes);
    IS(ERROR_MORE_DATA, RegQueryValueExA(HKEY_PERFORMANCE_DATA, "238", NULL, NULL, NULL, sized(0)));
    IS(ERROR_MORE_DATA, RegQueryValueExA(HKEY_PERFORMANCE_DATA, "238", NULL, &type, (LPBYTE)bytes, sized(16)));
    IS(16, size);
    IS(1, bytes[0] == 0x55);
    IS(0, TallymonSetNeededSize(TRUE));
    IS(ERROR_MORE_DATA, RegQueryValueExA(HKEY_PERFORMANCE_DATA, "238", NULL, &type, (LPBYTE)bytes, sized(16)));
    IS(1, size > 200);
    IS(1, TallymonSetNeededSize(FALSE));
    IS(ERROR_SUCCESS, RegQueryValueExA(HKEY_PERFORMANCE_DATA, "238", NULL, &type, (LPBYTE)bytes, sized(size)));
    IS(REG_BINARY, type);
    IS(0, memcmp(((PERF_DATA_BLOCK *)bytes)->Signature, "P\0E\0R\0F\0", 8));
    IS(1, ((PERF_DATA_BLOCK *)bytes)->NumObjectTypes);
    IS(ERROR_SUCCESS, RegQueryValueExA(HKEY_PERFORMANCE_DATA, "ABCD", NULL, &type, (LPBYTE)bytes, sized(sizeof bytes)));
    IS(0, ((PERF_DATA_BLOCK *)bytes)->NumObjectTypes);
    IS(ERROR_INVALID_PARAMETER, RegQueryValueExA(HKEY_PERFORMANCE_DATA, "238", NULL, NULL, (LPBYTE)bytes, NULL));
    IS(ERROR_SUCCESS, RegQueryValueExA(HKEY_PERFORMANCE_DATA, "Counter 009", NULL, &type, NULL, sized(0)));
    IS(REG_MULTI_SZ, type);
    IS(ERROR_SUCCESS, RegQueryValueExA(HKEY_PERFORMANCE_TEXT, "Counter", NULL, &type, (LPBYTE)wide, sized(sizeof wide)));
    IS(0, memcmp(wide, "1\0" "1847\0" "2\0System\0", 16));
    IS(ERROR_SUCCESS, RegQueryValueExW(HKEY_PERFORMANCE_NLSTEXT, W("Help"), NULL, &type, NULL, sized(0)));
    IS(ERROR_FILE_NOT_FOUND, RegQueryValueExA(HKEY_PERFORMANCE_TEXT, "238", NULL, NULL, (LPBYTE)bytes, sized(100)));
    IS(ERROR_INVALID_HANDLE, RegQueryValueExA((HKEY)12345, "238", NULL, NULL, (LPBYTE)bytes, sized(100)));
    IS(ERROR_SUCCESS, RegCloseKey(HKEY_PERFORMANCE_DATA));
    IS(ERROR_SUCCESS, RegCloseKey(HKEY_PERFORMANCE_DATA));
    IS(ERROR_INVALID_HANDLE, RegCloseKey(NULL));
    IS(ERROR_SUCCESS, RegConnectRegistryA(NULL, HKEY_PERFORMANCE_DATA, &key));
    IS(ERROR_SUCCESS, RegQueryValueExW(key, W("4"), NULL, &type, (LPBYTE)bytes, sized(sizeof bytes)));
    IS(ERROR_BAD_NETPATH, RegConnectRegistryA("\\\\elsewhere", HKEY_PERFORMANCE_DATA, &key));
    IS(ERROR_SUCCESS, RegOpenKeyExW(HKEY_LOCAL_MACHINE, W("SOFTWARE\\Microsoft\\Windows NT\\CurrentVersion\\Perflib"), 0,
                                    KEY_READ, &key));
    IS(ERROR_SUCCESS, RegQueryValueExA(key, "Base Index", NULL, &type, (LPBYTE)&count, sized(4)));
    IS(1847, count);
    IS(ERROR_SUCCESS, RegCloseKey(key));
    IS(ERROR_INVALID_HANDLE, RegCloseKey(key));
    IS(ERROR_FILE_NOT_FOUND, RegOpenKeyExA(HKEY_LOCAL_MACHINE, "SOFTWARE\\Other", 0, KEY_READ, &key));
    IS(87, LoadPerfCounterTextStringsA((LPSTR) "only-one-word.ini", TRUE));
}

static void logs(const char *log) {
    PDH_TIME_INFO info;
    PDH_HLOG source;
    PDH_HQUERY of_log;
    PDH_HCOUNTER of_log_counter;
    int samples = 0;
    count = 77;
    IS(PDH_DATA_SOURCE_IS_REAL_TIME, PdhGetDataSourceTimeRangeA(NULL, &count, &info, sized(sizeof info)));
    IS(0, count);
    IS(PDH_INVALID_ARGUMENT, PdhGetDataSourceTimeRangeA(NULL, NULL, &info, sized(sizeof info)));
    IS(PDH_FILE_NOT_FOUND, PdhBindInputDataSourceA(&source, "/nothing/there.blg\0"));
    IS(PDH_LOG_TYPE_NOT_FOUND, PdhBindInputDataSourceA(&source, "/proc/self/status\0"));
    IS(PDH_INVALID_HANDLE, PdhCloseLog(NULL, 0));
    IS(PDH_INVALID_ARGUMENT, PdhSetDefaultRealTimeDataSource(77));
    IS(ERROR_SUCCESS, PdhSetDefaultRealTimeDataSource(DATA_SOURCE_REGISTRY));
    if (!*log) return;
    /* A list of names ends with an empty one. */
    memset(bytes, 0, sizeof bytes);
    strcpy(bytes, log);
    IS(ERROR_SUCCESS, PdhBindInputDataSourceA(&source, bytes));
    IS(PDH_MORE_DATA, PdhGetDataSourceTimeRangeH(source, &count, &info, sized(8)));
    IS(ERROR_SUCCESS, PdhGetDataSourceTimeRangeH(source, &count, &info, sized(sizeof info)));
    IS(1, count);
    IS(25, info.SampleCount);
    IS(ERROR_SUCCESS, PdhEnumObjectsHA(source, NULL, bytes, sized(sizeof bytes), PERF_DETAIL_WIZARD, FALSE));
    IS(ERROR_SUCCESS, PdhExpandWildCardPathHA(source, "\\Processor(*)\\*", bytes, sized(sizeof bytes), 0));
    IS(ERROR_SUCCESS, PdhOpenQueryH(source, 0, &of_log));
    IS(FALSE, PdhIsRealTimeQuery(of_log));
    IS(PDH_ENTRY_NOT_IN_LOG_FILE, PdhAddCounterA(of_log, "\\Nothing\\there", 0, &of_log_counter));
    IS(ERROR_SUCCESS, PdhAddCounterA(of_log, "\\Processor(_Total)\\% Processor Time", 0, &of_log_counter));
    while (PdhCollectQueryData(of_log) == ERROR_SUCCESS) samples++;
    IS(25, samples);
    IS(PDH_NO_MORE_DATA, PdhCollectQueryData(of_log));
    IS(ERROR_SUCCESS, PdhGetFormattedCounterValue(of_log_counter, PDH_FMT_DOUBLE, NULL, &value));
    info.EndTime = info.StartTime - 1;
    IS(PDH_INVALID_ARGUMENT, PdhSetQueryTimeRange(of_log, &info));
    info.EndTime = info.StartTime;
    IS(PDH_INVALID_ARGUMENT, PdhSetQueryTimeRange(of_log, &info));
    info.EndTime = info.StartTime + 1;
    IS(ERROR_SUCCESS, PdhSetQueryTimeRange(of_log, &info));
    IS(ERROR_SUCCESS, PdhCollectQueryData(of_log));
    IS(PDH_NO_MORE_DATA, PdhCollectQueryData(of_log));
    /* All of it again. */
    info.StartTime = 0;
    info.EndTime = 0x7FFFFFFFFFFFFFFF;
    IS(ERROR_SUCCESS, PdhSetQueryTimeRange(of_log, &info));
    for (samples = 0; PdhCollectQueryData(of_log) == ERROR_SUCCESS;) samples++;
    IS(25, samples);
    DIFFERS(ERROR_SUCCESS, ERROR_SUCCESS, "of a log NT gives an empty name; a program that asks wants one",
            PdhGetDefaultPerfCounterHA(source, NULL, "Processor", bytes, sized(sizeof bytes)));
    IS(1, bytes[0] == '%');
    IS(ERROR_SUCCESS, PdhCloseQuery(of_log));
    IS(ERROR_SUCCESS, PdhCloseLog(source, 0));
    IS(PDH_INVALID_HANDLE, PdhCloseLog(source, 0));
    IS(PDH_INVALID_HANDLE, PdhOpenQueryH(source, 0, &of_log));
}

/* Writes a log of a query and reads it again. */
static void write_log(const char *name, DWORD type) {
    PDH_HQUERY of_log, writing;
    PDH_HCOUNTER processes;
    PDH_HLOG log;
    PDH_TIME_INFO info;
    FILE *file;
    DWORD kind = type;
    LONGLONG length = 0;
    int records = 0;
    remove(name);
    IS(ERROR_SUCCESS, PdhOpenQueryA(NULL, 0, &writing));
    IS(PDH_FILE_NOT_FOUND, PdhOpenLogA(name, PDH_LOG_READ_ACCESS | PDH_LOG_OPEN_EXISTING, &kind, NULL, 0, NULL, &log));
    IS(ERROR_SUCCESS, PdhOpenLogA(name, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_NEW, &kind, writing, 0, NULL, &log));
    IS(PDH_NO_DATA, PdhUpdateLogA(log, NULL));
    IS(ERROR_SUCCESS, PdhAddCounterA(writing, "\\System\\Processes", 0, &processes));
    IS(ERROR_SUCCESS, PdhUpdateLogA(log, NULL));
    Sleep(20);
    IS(PDH_INVALID_ARGUMENT, PdhUpdateLogA(log, ""));
    IS(ERROR_SUCCESS, PdhUpdateLogW(log, W("a text of the user")));
    IS(ERROR_SUCCESS, PdhGetFormattedCounterValue(processes, PDH_FMT_DOUBLE, NULL, &value));
    IS(ERROR_SUCCESS, PdhGetLogFileSize(log, &length));
    IS(PDH_NOT_IMPLEMENTED, PdhUpdateLogFileCatalog(log));
    IS(ERROR_SUCCESS, PdhCloseLog(log, PDH_FLAGS_CLOSE_QUERY));
    IS(PDH_INVALID_HANDLE, PdhCloseQuery(writing));
    IS(PDH_INVALID_HANDLE, PdhUpdateLogA(log, NULL));
    IS(PDH_INVALID_HANDLE, PdhGetLogFileSize(log, &length));
    IS(PDH_FILE_ALREADY_EXISTS, PdhOpenLogA(name, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_NEW, &kind, query, 0, NULL, &log));
    kind = PDH_LOG_TYPE_UNDEFINED;
    IS(ERROR_SUCCESS, PdhOpenLogA(name, PDH_LOG_READ_ACCESS | PDH_LOG_OPEN_EXISTING, &kind, NULL, 0, NULL, &log));
    IS(type, kind);
    IS(ERROR_SUCCESS, PdhGetLogFileSize(log, &length));
    file = fopen(name, "rb");
    IS(1, file != NULL && !fseek(file, 0, SEEK_END) && ftell(file) == length);
    if (file) fclose(file);
    IS(PDH_INVALID_HANDLE, PdhUpdateLogA(log, NULL));
    IS(ERROR_SUCCESS, PdhCloseLog(log, 0));
    /* Twice the same log is one with its records twice. */
    memset(bytes, 0, sizeof bytes);
    strcpy(bytes, name);
    strcpy(bytes + strlen(name) + 1, name);
    IS(ERROR_SUCCESS, PdhBindInputDataSourceA(&log, bytes));
    IS(ERROR_SUCCESS, PdhGetDataSourceTimeRangeH(log, &count, &info, sized(sizeof info)));
    IS(1, info.SampleCount == 4 && info.StartTime < info.EndTime);
    IS(ERROR_SUCCESS, PdhGetLogFileSize(log, &time_of));
    IS(2 * length, time_of);
    IS(ERROR_SUCCESS, PdhOpenQueryH(log, 0, &of_log));
    IS(ERROR_SUCCESS, PdhCloseLog(log, 0));
    IS(ERROR_SUCCESS, PdhAddCounterA(of_log, "\\System\\Processes", 0, &processes));
    while (PdhCollectQueryData(of_log) == ERROR_SUCCESS) records++;
    IS(4, records);
    IS(ERROR_SUCCESS, PdhGetFormattedCounterValue(processes, PDH_FMT_DOUBLE, NULL, &value));
    IS(1, value.doubleValue >= 1.0);
    IS(ERROR_SUCCESS, PdhCloseQuery(of_log));
    remove(name);
}

static void written_logs(const char *folder) {
    char name[4096];
    DWORD kind = PDH_LOG_TYPE_CSV;
    HANDLE log;
    IS(PDH_INVALID_ARGUMENT, PdhOpenLogA(NULL, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, &kind, query, 0, NULL, &log));
    IS(PDH_INVALID_ARGUMENT, PdhOpenLogA("x", PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, NULL, query, 0, NULL, &log));
    IS(PDH_INVALID_ARGUMENT, PdhOpenLogA("x", PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, &kind, query, 0, NULL, NULL));
    IS(PDH_INVALID_ARGUMENT, PdhOpenLogA("x", PDH_LOG_WRITE_ACCESS, &kind, query, 0, NULL, &log));
    IS(PDH_INVALID_HANDLE, PdhOpenLogA("x", PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, &kind, NULL, 0, NULL, &log));
    kind = 99;
    IS(PDH_UNKNOWN_LOG_FORMAT, PdhOpenLogA("x", PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, &kind, query, 0, NULL, &log));
    IS(PDH_LOG_TYPE_NOT_FOUND, PdhOpenLogA("/proc/self/status", PDH_LOG_READ_ACCESS | PDH_LOG_OPEN_EXISTING, &kind, NULL, 0, NULL, &log));
    kind = PDH_LOG_TYPE_BINARY;
    IS(PDH_LOG_FILE_CREATE_ERROR, PdhOpenLogA("/nothing/x.blg", PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, &kind, query, 0, NULL, &log));
    IS(PDH_INVALID_ARGUMENT, PdhOpenLogA("x", PDH_LOG_CREATE_ALWAYS, &kind, query, 0, NULL, &log));
    IS(PDH_INVALID_HANDLE, PdhUpdateLogA(NULL, NULL));
    IS(PDH_INVALID_ARGUMENT, PdhGetLogFileSize(NULL, NULL));
    IS(PDH_INVALID_HANDLE, PdhGetLogFileSize(NULL, &time_of));
    IS(PDH_INVALID_HANDLE, PdhUpdateLogFileCatalog(NULL));
    snprintf(name, sizeof name, "%s/written.csv", folder);
    write_log(name, PDH_LOG_TYPE_CSV);
    snprintf(name, sizeof name, "%s/written.tsv", folder);
    write_log(name, PDH_LOG_TYPE_TSV);
    snprintf(name, sizeof name, "%s/written.blg", folder);
    write_log(name, PDH_LOG_TYPE_BINARY);
}

static void absent(void) {
    PDH_BROWSE_DLG_CONFIG_A dialog = {0};
    IS(PDH_NO_DIALOG_DATA, PdhBrowseCountersA(NULL));
    IS(PDH_INVALID_ARGUMENT, PdhBrowseCountersA(&dialog));
    dialog.szReturnPathBuffer = bytes;
    dialog.cchReturnPathLength = sizeof bytes;
    DIFFERS(PDH_NOT_IMPLEMENTED, ERROR_SUCCESS, "the dialog is on a terminal, and a test has none", PdhBrowseCountersA(&dialog));
}

static void ends(void) {
    event = CreateEvent(NULL, FALSE, FALSE, NULL);
    IS(WAIT_TIMEOUT, WaitForSingleObject(event, 0));
    IS(ERROR_SUCCESS, PdhCollectQueryDataEx(query, 1, event));
    IS(WAIT_OBJECT_0, WaitForSingleObject(event, 20000));
    IS(ERROR_SUCCESS, PdhCollectQueryDataEx(query, 0, NULL));
    IS(TRUE, CloseHandle(event));
    IS(FALSE, CloseHandle(event));
    IS(ERROR_INVALID_HANDLE, GetLastError());
    IS(PDH_INVALID_HANDLE, PdhRemoveCounter(NULL));
    IS(ERROR_SUCCESS, PdhRemoveCounter(missing));
    IS(PDH_INVALID_HANDLE, PdhRemoveCounter(missing));
    IS(PDH_INVALID_HANDLE, PdhCloseQuery(NULL));
    IS(PDH_INVALID_HANDLE, PdhCloseQuery(counter));
    IS(ERROR_SUCCESS, PdhCollectQueryDataEx(query, 1, NULL));
    IS(ERROR_SUCCESS, PdhCloseQuery(query));
    IS(PDH_INVALID_HANDLE, PdhCloseQuery(query));
    IS(PDH_INVALID_HANDLE, PdhGetFormattedCounterValue(counter, PDH_FMT_LONG, NULL, &value));
    IS(PDH_INVALID_HANDLE, PdhCollectQueryData(query));
    IS(ERROR_SUCCESS, PdhCloseQuery(empty));
}

int main(int argc, char **argv) {
    queries();
    values();
    arrays();
    names();
    paths();
    registry();
    logs(argc > 1 ? argv[1] : "");
    written_logs(argc > 2 ? argv[2] : ".");
    absent();
    ends();
    return summary();
}
