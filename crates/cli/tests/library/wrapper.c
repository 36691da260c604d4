/* Puts one counter behind those of an object that has no instances. FAULT says what it does instead. */
#include <string.h>
#include <unistd.h>

#include <windows.h>

#include <stdlib.h>

static DWORD first;

DWORD Open(LPWSTR context)
{
    const char *text = getenv("TALLYMON_FIRST_COUNTER");
    (void)context;
    first = text ? (DWORD)strtoul(text, NULL, 10) : 0;
    return ERROR_SUCCESS;
}

DWORD Collect(LPWSTR query, LPVOID *data, LPDWORD bytes, LPDWORD objects)
{
    enum { MORE = sizeof(PERF_COUNTER_DEFINITION) + 8 };
    PERF_OBJECT_TYPE *object = *data;
    PERF_COUNTER_DEFINITION *status;
    PERF_COUNTER_BLOCK *block;
    DWORD length = object->TotalByteLength;
    (void)query;
    if (*objects != 1 || object->NumInstances != PERF_NO_INSTANCES)
        abort();
    if (FAULT == 1)
        abort();
    if (FAULT == 2)
        sleep(1000);
    if (FAULT == 3) {
        *bytes = *objects = 0;
        return ERROR_SUCCESS;
    }
    if (*bytes < length + MORE) {
        *bytes = *objects = 0;
        return ERROR_MORE_DATA;
    }
    /* The last definition is the hidden one, which has to stay the last. */
    status = (PERF_COUNTER_DEFINITION *)((char *)object + object->DefinitionLength) - 1;
    memmove(status + 1, status, length - ((char *)status - (char *)object));
    block = (PERF_COUNTER_BLOCK *)((char *)object + object->DefinitionLength + sizeof(*status));
    memset(status, 0, sizeof(*status));
    status->ByteLength = sizeof(*status);
    status->CounterNameTitleIndex = first;
    status->CounterHelpTitleIndex = first + 1;
    status->CounterType = PERF_COUNTER_RAWCOUNT;
    status->CounterSize = sizeof(DWORD);
    status->CounterOffset = block->ByteLength;
    memset((char *)block + block->ByteLength, 0, 8);
    *(DWORD *)((char *)block + block->ByteLength) = 4711;
    block->ByteLength += 8;
    object->NumCounters++;
    object->DefinitionLength += sizeof(*status);
    object->TotalByteLength = length + MORE;
    *data = (char *)*data + object->TotalByteLength;
    *bytes = object->TotalByteLength;
    if (FAULT == 4)
        object->TotalByteLength += 800;
    return ERROR_SUCCESS;
}

DWORD Close(void)
{
    return ERROR_SUCCESS;
}
