/* A provider library for the performance key: the object Processor with three instances and two counters, written by
 * winperf.h of mingw and the documentation of Microsoft, without any code of this project.
 *
 *   x86_64-w64-mingw32-gcc -shared -O1 -o provider.dll provider.c
 *
 * The idle time of an instance grows by a fixed share of the time, so that "% Processor Time" is known: 40 for "0", 80
 * for "1" and 60 for "_Total". "Interrupts/sec" grows by 1000, 500 and 1500 in each second.
 *
 * Wine up to version 10 begins the first object 88 bytes (the size of the header) too late and does not count them. There
 * this library begins as much earlier; on Windows it does not. */
#include <windows.h>
#include <winperf.h>
#include <string.h>

#define INSTANCES 3
#define COUNTERS 2

static const WCHAR *const NAMES[INSTANCES] = { L"0", L"1", L"_Total" };
static const unsigned IDLE_PERCENT[INSTANCES] = { 60, 20, 40 };
static const unsigned INTERRUPTS[INSTANCES] = { 1000, 500, 1500 };

typedef struct { PERF_INSTANCE_DEFINITION head; WCHAR name[8]; } Instance;
typedef struct { PERF_COUNTER_BLOCK head; DWORD interrupts; LONGLONG idle; } Values;
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

static void definition(PERF_COUNTER_DEFINITION *counter, DWORD name, DWORD help, DWORD type, DWORD size, DWORD offset) {
    counter->ByteLength = sizeof *counter;
    counter->CounterNameTitleIndex = name;
    counter->CounterHelpTitleIndex = help;
    counter->DetailLevel = PERF_DETAIL_NOVICE;
    counter->CounterType = type;
    counter->CounterSize = size;
    counter->CounterOffset = offset;
}

__declspec(dllexport) DWORD APIENTRY Collect(LPWSTR query, LPVOID *data, LPDWORD bytes, LPDWORD objects) {
    if (query != NULL && *query != 0 && _wcsicmp(query, L"Global") != 0 && !has(query, L"238")) {
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
    object->ObjectNameTitleIndex = 238;
    object->ObjectHelpTitleIndex = 239;
    object->DetailLevel = PERF_DETAIL_NOVICE;
    object->NumCounters = COUNTERS;
    object->NumInstances = INSTANCES;
    definition(&answer.counters[0], 6, 7, PERF_100NSEC_TIMER_INV, 8, offsetof(Values, idle));
    definition(&answer.counters[1], 148, 149, PERF_COUNTER_COUNTER, 4, offsetof(Values, interrupts));
    for (int i = 0; i < INSTANCES; i++) {
        Row *row = &answer.rows[i];
        row->instance.head.ByteLength = sizeof row->instance;
        row->instance.head.UniqueID = PERF_NO_UNIQUE_ID;
        row->instance.head.NameOffset = sizeof row->instance.head;
        row->instance.head.NameLength = (DWORD)(wcslen(NAMES[i]) + 1) * sizeof(WCHAR);
        wcscpy(row->instance.name, NAMES[i]);
        row->values.head.ByteLength = sizeof row->values;
        row->values.idle = now.QuadPart / 100 * IDLE_PERCENT[i];
        row->values.interrupts = (DWORD)(now.QuadPart / 10000 * INTERRUPTS[i] / 1000);
    }
    memcpy(begin, &answer, sizeof answer);
    *data = (BYTE *)*data + sizeof answer;
    *bytes = sizeof answer;
    *objects = 1;
    return ERROR_SUCCESS;
}
