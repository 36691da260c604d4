/* Reads the performance key as the documentation of Microsoft says, without any code of this project, and prints what is
 * there: `reader QUERY` lines of object, instance, counter, type and value, `reader --file FILE` the same of a saved block,
 * `reader --texts VALUE` lines of index and text.
 *
 *   x86_64-w64-mingw32-gcc -O1 -o reader.exe reader.c */
#include <windows.h>
#include <winperf.h>
#include <stdio.h>
#include <stdlib.h>

static BYTE *query(const WCHAR *name, DWORD *size) {
    DWORD room = 4096;
    BYTE *data = malloc(room);
    for (;;) {
        *size = room;
        LONG status = RegQueryValueExW(HKEY_PERFORMANCE_DATA, name, NULL, NULL, data, size);
        if (status == ERROR_SUCCESS) break;
        if (status != ERROR_MORE_DATA || room > 64u << 20) {
            fprintf(stderr, "error %ld\n", status);
            exit(1);
        }
        room *= 2;
        data = realloc(data, room);
    }
    RegCloseKey(HKEY_PERFORMANCE_DATA);
    return data;
}

static void print(PERF_OBJECT_TYPE *object, const WCHAR *instance, PERF_COUNTER_BLOCK *block) {
    PERF_COUNTER_DEFINITION *counter = (PERF_COUNTER_DEFINITION *)((BYTE *)object + object->HeaderLength);
    for (DWORD i = 0; i < object->NumCounters; i++) {
        BYTE *at = (BYTE *)block + counter->CounterOffset;
        ULONGLONG value = counter->CounterSize == 8 ? *(ULONGLONG *)at : *(DWORD *)at;
        printf("%lu\t%ls\t%lu\t%08lx\t%llu\n", object->ObjectNameTitleIndex, instance, counter->CounterNameTitleIndex,
               counter->CounterType, value);
        counter = (PERF_COUNTER_DEFINITION *)((BYTE *)counter + counter->ByteLength);
    }
}

static BYTE *file(const WCHAR *name) {
    static BYTE data[1 << 20];
    FILE *from = _wfopen(name, L"rb");
    if (from == NULL || fread(data, 1, sizeof data, from) == 0) exit(3);
    return data;
}

int wmain(int count, WCHAR **words) {
    DWORD size;
    if (count < 2) return 2;
    if (!wcscmp(words[1], L"--texts")) {
        for (WCHAR *at = (WCHAR *)query(words[2], &size); *at; at += wcslen(at) + 1) {
            WCHAR *text = at + wcslen(at) + 1;
            printf("%ls\t%ls\n", at, text);
            at = text;
        }
        return 0;
    }
    PERF_DATA_BLOCK *block = (PERF_DATA_BLOCK *)(wcscmp(words[1], L"--file") ? query(words[1], &size) : file(words[2]));
    PERF_OBJECT_TYPE *object = (PERF_OBJECT_TYPE *)((BYTE *)block + block->HeaderLength);
    for (DWORD i = 0; i < block->NumObjectTypes; i++) {
        if (object->NumInstances == PERF_NO_INSTANCES) {
            print(object, L"", (PERF_COUNTER_BLOCK *)((BYTE *)object + object->DefinitionLength));
        } else {
            PERF_INSTANCE_DEFINITION *instance = (PERF_INSTANCE_DEFINITION *)((BYTE *)object + object->DefinitionLength);
            for (LONG n = 0; n < object->NumInstances; n++) {
                PERF_COUNTER_BLOCK *values = (PERF_COUNTER_BLOCK *)((BYTE *)instance + instance->ByteLength);
                print(object, (WCHAR *)((BYTE *)instance + instance->NameOffset), values);
                instance = (PERF_INSTANCE_DEFINITION *)((BYTE *)values + values->ByteLength);
            }
        }
        object = (PERF_OBJECT_TYPE *)((BYTE *)object + object->TotalByteLength);
    }
    return 0;
}
