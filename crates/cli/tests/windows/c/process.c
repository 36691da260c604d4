/* A provider library for the performance key: the object Process with four instances and the counters of a list of
 * processes, written by winperf.h of mingw and the documentation of Microsoft, without any code of this project.
 *
 *   x86_64-w64-mingw32-gcc -shared -O1 -o process.dll process.c
 *
 * Times grow by a fixed share of the time, so that "% Processor Time" is known: 25 for "shop", 5 for "tea", 170 for
 * "Idle" and 200 for "_Total". Four fifths of it are user time.
 *
 * Wine up to version 10 begins the first object 88 bytes (the size of the header) too late and does not count them. There
 * this library begins as much earlier; on Windows it does not. */
#include <windows.h>
#include <winperf.h>
#include <string.h>

#define INSTANCES 4
#define COUNTERS 7

static const WCHAR *const NAMES[INSTANCES] = { L"Idle", L"shop", L"tea", L"_Total" };
static const unsigned PERCENT[INSTANCES] = { 170, 25, 5, 200 };
static const DWORD PROCESS[INSTANCES] = { 0, 4711, 812, 0 };
static const LONGLONG MEGABYTES[INSTANCES] = { 0, 300, 20, 320 };
static const DWORD THREADS[INSTANCES] = { 2, 17, 3, 22 };

typedef struct { PERF_INSTANCE_DEFINITION head; WCHAR name[8]; } Instance;
typedef struct { PERF_COUNTER_BLOCK head; DWORD process; DWORD threads; DWORD unused; LONGLONG time, user, kernel, memory, bytes; } Values;
typedef struct { Instance instance; Values values; } Row;
typedef struct { PERF_OBJECT_TYPE object; PERF_COUNTER_DEFINITION counters[COUNTERS]; Row rows[INSTANCES]; } Answer;

__declspec(dllexport) DWORD APIENTRY Open(LPWSTR device) { (void)device; return ERROR_SUCCESS; }
__declspec(dllexport) DWORD APIENTRY Close(void) { return ERROR_SUCCESS; }

static int has(const WCHAR *query, const WCHAR *number) {
    size_t length = wcslen(number);
    for (const WCHAR *at = query; (at = wcsstr(at, number)) != NULL; at += length) {
        int begins = at == query || at[-1] == L' ';
        if (begins && (at[length] == 0 || at[length] == L' ')) return 1;
    }
    return 0;
}

static void definition(PERF_COUNTER_DEFINITION *counter, DWORD name, DWORD type, DWORD size, DWORD offset) {
    counter->ByteLength = sizeof *counter;
    counter->CounterNameTitleIndex = name;
    counter->CounterHelpTitleIndex = name + 1;
    counter->DetailLevel = PERF_DETAIL_NOVICE;
    counter->CounterType = type;
    counter->CounterSize = size;
    counter->CounterOffset = offset;
}

__declspec(dllexport) DWORD APIENTRY Collect(LPWSTR query, LPVOID *data, LPDWORD bytes, LPDWORD objects) {
    if (query != NULL && *query != 0 && _wcsicmp(query, L"Global") != 0 && !has(query, L"230")) {
        *bytes = 0;
        *objects = 0;
        return ERROR_SUCCESS;
    }
    if (*bytes < sizeof(Answer) + sizeof(PERF_DATA_BLOCK)) {
        *bytes = 0;
        *objects = 0;
        return ERROR_MORE_DATA;
    }
    BYTE *begin = *data;
    if (GetProcAddress(GetModuleHandleA("ntdll.dll"), "wine_get_version") != NULL) begin -= sizeof(PERF_DATA_BLOCK);
    ULARGE_INTEGER now;
    GetSystemTimeAsFileTime((FILETIME *)&now);
    static Answer answer;
    memset(&answer, 0, sizeof answer);
    PERF_OBJECT_TYPE *object = &answer.object;
    object->TotalByteLength = sizeof answer;
    object->DefinitionLength = sizeof *object + sizeof answer.counters;
    object->HeaderLength = sizeof *object;
    object->ObjectNameTitleIndex = 230;
    object->ObjectHelpTitleIndex = 231;
    object->DetailLevel = PERF_DETAIL_NOVICE;
    object->NumCounters = COUNTERS;
    object->NumInstances = INSTANCES;
    definition(&answer.counters[0], 784, PERF_COUNTER_RAWCOUNT, 4, offsetof(Values, process));
    definition(&answer.counters[1], 680, PERF_COUNTER_RAWCOUNT, 4, offsetof(Values, threads));
    definition(&answer.counters[2], 6, PERF_100NSEC_TIMER, 8, offsetof(Values, time));
    definition(&answer.counters[3], 142, PERF_100NSEC_TIMER, 8, offsetof(Values, user));
    definition(&answer.counters[4], 144, PERF_100NSEC_TIMER, 8, offsetof(Values, kernel));
    definition(&answer.counters[5], 180, PERF_COUNTER_LARGE_RAWCOUNT, 8, offsetof(Values, memory));
    definition(&answer.counters[6], 1424, PERF_COUNTER_BULK_COUNT, 8, offsetof(Values, bytes));
    for (int i = 0; i < INSTANCES; i++) {
        Row *row = &answer.rows[i];
        row->instance.head.ByteLength = sizeof row->instance;
        row->instance.head.UniqueID = PERF_NO_UNIQUE_ID;
        row->instance.head.NameOffset = sizeof row->instance.head;
        row->instance.head.NameLength = (DWORD)(wcslen(NAMES[i]) + 1) * sizeof(WCHAR);
        wcscpy(row->instance.name, NAMES[i]);
        row->values.head.ByteLength = sizeof row->values;
        row->values.process = PROCESS[i];
        row->values.threads = THREADS[i];
        row->values.time = now.QuadPart / 100 * PERCENT[i];
        row->values.user = now.QuadPart / 500 * 4 * PERCENT[i];
        row->values.kernel = now.QuadPart / 500 * PERCENT[i];
        row->values.memory = MEGABYTES[i] << 20;
        row->values.bytes = now.QuadPart / 10000 * PERCENT[i];
    }
    memcpy(begin, &answer, sizeof answer);
    *data = (BYTE *)*data + sizeof answer;
    *bytes = sizeof answer;
    *objects = 1;
    return ERROR_SUCCESS;
}
