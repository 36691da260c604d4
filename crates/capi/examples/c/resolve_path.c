/* Finds any counter path by hand in the data block, and computes its value: resolve_path [-i milliseconds] path...
 *
 * It follows the explanation of "レジストリデータを使ってのモニタについて": the names are looked up in the table of
 * HKEY_PERFORMANCE_DATA, the index of the object is the query, and then
 *
 *   object   -> PERF_OBJECT_TYPE by ObjectNameTitleIndex
 *   counter  -> PERF_COUNTER_DEFINITION by CounterNameTitleIndex; its base is the definition that follows
 *   parent   -> PERF_INSTANCE_DEFINITION at ParentObjectInstance of the object ParentObjectTitleIndex
 *   instance -> PERF_INSTANCE_DEFINITION by name, counted through all parents of one name up to #index
 *
 * For each path it prints: type, old and new value, old and new clock or base, ticks per second, count, and the value.
 */
#define UNICODE
#define _UNICODE
#include <windows.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tchar.h>

struct path {
    WCHAR object[1024], parent[1024], instance[1024], counter[1024];
    int has_instance, has_parent;
    DWORD number;
};

struct raw {
    DWORD type, multi_count;
    LONGLONG value, denominator, frequency;
};

static WCHAR *names; /* index, text, index, text ... */

static void fail(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

/* The value of a query, in a buffer that grew until it was large enough. */
static BYTE *query_registry(LPCWSTR text) {
    DWORD room = 8192, size = room;
    BYTE *data = (BYTE *)malloc(room);
    LONG error;
    while ((error = RegQueryValueEx(HKEY_PERFORMANCE_DATA, text, NULL, NULL, data, &size)) == ERROR_MORE_DATA) {
        room *= 2;
        size = room; /* it means nothing after this answer */
        data = (BYTE *)realloc(data, room);
    }
    if (error != ERROR_SUCCESS) fail("the registry does not answer");
    return data;
}

/* Whether the text at an index is a name; several indexes may have the same name. */
static int is_name(DWORD index, const WCHAR *name) {
    WCHAR *at = names;
    while (*at) {
        DWORD known = (DWORD)_ttoi(at);
        at += lstrlen(at) + 1;
        if (known == index) return lstrcmpi(at, name) == 0;
        at += lstrlen(at) + 1;
    }
    return 0;
}

/* \object(parent/instance#number)\counter */
static void parse(const WCHAR *text, struct path *path) {
    const WCHAR *open, *close = NULL, *behind, *at;
    WCHAR *mark;
    memset(path, 0, sizeof *path);
    if (*text++ != '\\' || lstrlen(text) > 1000) fail("a path begins with a backslash");
    for (at = text; *at; at++)
        if (at[0] == ')' && at[1] == '\\') close = at;
    open = _tcschr(text, '(');
    if (close && open && open < close) {
        WCHAR *slash;
        path->has_instance = 1;
        lstrcpyn(path->object, text, (int)(open - text) + 1);
        lstrcpyn(path->instance, open + 1, (int)(close - open));
        mark = _tcsrchr(path->instance, '#');
        if (mark && mark[1] >= '0' && mark[1] <= '9') {
            path->number = (DWORD)_ttoi(mark + 1);
            *mark = 0;
        }
        slash = _tcschr(path->instance, '/');
        if (slash) {
            path->has_parent = 1;
            lstrcpyn(path->parent, path->instance, (int)(slash - path->instance) + 1);
            memmove(path->instance, slash + 1, (lstrlen(slash + 1) + 1) * sizeof(WCHAR));
        }
        behind = close + 2;
    } else {
        behind = _tcschr(text, '\\');
        if (!behind) fail("a path has a counter");
        lstrcpyn(path->object, text, (int)(behind - text) + 1);
        behind++;
    }
    lstrcpy(path->counter, behind);
}

static PERF_OBJECT_TYPE *object_of_index(PERF_DATA_BLOCK *block, DWORD index) {
    PERF_OBJECT_TYPE *object = (PERF_OBJECT_TYPE *)((BYTE *)block + block->HeaderLength);
    DWORD at;
    for (at = 0; at < block->NumObjectTypes; at++) {
        if (object->ObjectNameTitleIndex == index) return object;
        object = (PERF_OBJECT_TYPE *)((BYTE *)object + object->TotalByteLength);
    }
    return NULL;
}

static PERF_INSTANCE_DEFINITION *next_instance(PERF_INSTANCE_DEFINITION *instance) {
    PERF_COUNTER_BLOCK *data = (PERF_COUNTER_BLOCK *)((BYTE *)instance + instance->ByteLength);
    return (PERF_INSTANCE_DEFINITION *)((BYTE *)data + data->ByteLength);
}

static const WCHAR *name_of(PERF_INSTANCE_DEFINITION *instance) {
    return (const WCHAR *)((BYTE *)instance + instance->NameOffset);
}

static int parent_is(PERF_DATA_BLOCK *block, PERF_INSTANCE_DEFINITION *instance, const WCHAR *name) {
    PERF_OBJECT_TYPE *object = object_of_index(block, instance->ParentObjectTitleIndex);
    PERF_INSTANCE_DEFINITION *parent;
    DWORD at;
    if (!instance->ParentObjectTitleIndex || !object || (LONG)instance->ParentObjectInstance >= object->NumInstances)
        return 0;
    parent = (PERF_INSTANCE_DEFINITION *)((BYTE *)object + object->DefinitionLength);
    for (at = 0; at < instance->ParentObjectInstance; at++) parent = next_instance(parent);
    return lstrcmpi(name_of(parent), name) == 0;
}

/* The counter block of the instance that the path means. */
static PERF_COUNTER_BLOCK *find_data(PERF_DATA_BLOCK *block, PERF_OBJECT_TYPE *object, struct path *path) {
    PERF_INSTANCE_DEFINITION *instance = (PERF_INSTANCE_DEFINITION *)((BYTE *)object + object->DefinitionLength);
    DWORD number = 0;
    LONG at;
    if (object->NumInstances == PERF_NO_INSTANCES) return (PERF_COUNTER_BLOCK *)instance;
    for (at = 0; at < object->NumInstances; at++, instance = next_instance(instance)) {
        if (lstrcmpi(name_of(instance), path->instance)) continue;
        if (path->has_parent && !parent_is(block, instance, path->parent)) continue;
        if (number++ == path->number) return (PERF_COUNTER_BLOCK *)((BYTE *)instance + instance->ByteLength);
    }
    return NULL;
}

static LONGLONG number_at(PERF_COUNTER_BLOCK *data, PERF_COUNTER_DEFINITION *counter) {
    LONGLONG large = 0;
    DWORD small = 0;
    if (counter->CounterSize == 8) {
        memcpy(&large, (BYTE *)data + counter->CounterOffset, 8);
        return large;
    }
    memcpy(&small, (BYTE *)data + counter->CounterOffset, 4);
    return small;
}

/* Takes what the formula of the counter needs out of one sample. */
static int take(PERF_DATA_BLOCK *block, PERF_OBJECT_TYPE *object, struct path *path, struct raw *raw) {
    PERF_COUNTER_DEFINITION *counter = (PERF_COUNTER_DEFINITION *)((BYTE *)object + object->HeaderLength), *base;
    PERF_COUNTER_BLOCK *data = find_data(block, object, path);
    DWORD at, subtype;
    if (!data) return 0;
    for (at = 0; at < object->NumCounters; at++) {
        subtype = counter->CounterType & 0x000F0000;
        /* A base has the name of its numerator, and is never meant itself. */
        if (is_name(counter->CounterNameTitleIndex, path->counter) &&
            !((counter->CounterType & 0xC00) == PERF_TYPE_COUNTER && subtype == PERF_COUNTER_BASE))
            break;
        counter = (PERF_COUNTER_DEFINITION *)((BYTE *)counter + counter->ByteLength);
    }
    if (at == object->NumCounters) return 0;
    base = (PERF_COUNTER_DEFINITION *)((BYTE *)counter + counter->ByteLength);
    memset(raw, 0, sizeof *raw);
    raw->type = counter->CounterType;
    raw->multi_count = 1;
    raw->value = number_at(data, counter);
    raw->frequency = block->PerfFreq.QuadPart;
    switch (raw->type) {
    case PERF_COUNTER_RAWCOUNT:
    case PERF_COUNTER_RAWCOUNT_HEX:
    case PERF_COUNTER_LARGE_RAWCOUNT:
    case PERF_COUNTER_LARGE_RAWCOUNT_HEX:
    case PERF_COUNTER_DELTA:
    case PERF_COUNTER_LARGE_DELTA:
        break;
    case PERF_RAW_FRACTION:
    case PERF_LARGE_RAW_FRACTION:
    case PERF_SAMPLE_FRACTION:
    case PERF_AVERAGE_TIMER:
    case PERF_AVERAGE_BULK:
    case PERF_PRECISION_SYSTEM_TIMER:
    case PERF_PRECISION_100NS_TIMER:
    case PERF_PRECISION_OBJECT_TIMER:
        if (at + 1 == object->NumCounters) return 0;
        raw->denominator = number_at(data, base);
        break;
    case PERF_COUNTER_MULTI_TIMER:
    case PERF_COUNTER_MULTI_TIMER_INV:
    case PERF_100NSEC_MULTI_TIMER:
    case PERF_100NSEC_MULTI_TIMER_INV:
        if (at + 1 < object->NumCounters && base->CounterType == PERF_COUNTER_MULTI_BASE)
            raw->multi_count = (DWORD)number_at(data, base);
        /* fall through */
    default:
        if (raw->type & PERF_OBJECT_TIMER) {
            raw->denominator = object->PerfTime.QuadPart;
            raw->frequency = object->PerfFreq.QuadPart;
        } else if (raw->type & PERF_TIMER_100NS) {
            raw->denominator = block->PerfTime100nSec.QuadPart;
            raw->frequency = 10000000;
        } else {
            raw->denominator = block->PerfTime.QuadPart;
        }
    }
    return 1;
}

/* N1 - N0; a value of 4 bytes counts through its end. */
static double difference(DWORD type, LONGLONG old, LONGLONG now) {
    if ((type & 0x300) == PERF_SIZE_DWORD && type != PERF_AVERAGE_TIMER) return (double)(DWORD)(now - old);
    return (double)(now - old);
}

/* 0 for a value; else there is none. */
static int compute(struct raw *old, struct raw *now, double *value) {
    double n = difference(now->type, old->value, now->value);
    double d = (double)(now->denominator - old->denominator);
    /* Bases of averages and sample fractions have 4 bytes. */
    double b = (double)(DWORD)(now->denominator - old->denominator);
    double f = (double)now->frequency;
    switch (now->type) {
    case PERF_COUNTER_RAWCOUNT:
    case PERF_COUNTER_RAWCOUNT_HEX:
    case PERF_COUNTER_LARGE_RAWCOUNT:
    case PERF_COUNTER_LARGE_RAWCOUNT_HEX:
        *value = (double)(ULONGLONG)now->value;
        return 0;
    case PERF_COUNTER_DELTA:
    case PERF_COUNTER_LARGE_DELTA:
        *value = n;
        return n < 0;
    case PERF_SAMPLE_COUNTER:
    case PERF_COUNTER_COUNTER:
    case PERF_COUNTER_BULK_COUNT:
        if (d <= 0 || n < 0) return 1;
        *value = n / (d / f);
        return 0;
    case PERF_COUNTER_QUEUELEN_TYPE:
    case PERF_COUNTER_LARGE_QUEUELEN_TYPE:
    case PERF_COUNTER_100NS_QUEUELEN_TYPE:
    case PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE:
        if (d <= 0 || n < 0) return 1;
        *value = n / d;
        return 0;
    case PERF_COUNTER_TIMER:
    case PERF_100NSEC_TIMER:
    case PERF_OBJ_TIME_TIMER:
    case PERF_PRECISION_SYSTEM_TIMER:
    case PERF_PRECISION_100NS_TIMER:
    case PERF_PRECISION_OBJECT_TIMER:
        if (d <= 0 || n < 0) return 1;
        *value = n / d * 100;
        return 0;
    case PERF_COUNTER_TIMER_INV:
    case PERF_100NSEC_TIMER_INV:
        if (d <= 0 || n < 0) return 1;
        *value = 100 * (1 - n / d);
        return 0;
    case PERF_COUNTER_MULTI_TIMER:
    case PERF_100NSEC_MULTI_TIMER:
        if (d <= 0 || n < 0 || !now->multi_count) return 1;
        *value = n / d * 100 / now->multi_count;
        return 0;
    case PERF_COUNTER_MULTI_TIMER_INV:
    case PERF_100NSEC_MULTI_TIMER_INV:
        if (d <= 0 || n < 0 || !now->multi_count) return 1;
        *value = 100 * (now->multi_count - n / d);
        return 0;
    case PERF_RAW_FRACTION:
    case PERF_LARGE_RAW_FRACTION:
        if (!now->denominator) return 1;
        *value = (double)(ULONGLONG)now->value / (double)(ULONGLONG)now->denominator * 100;
        return 0;
    case PERF_SAMPLE_FRACTION:
        if (b <= 0) return 1;
        *value = n / b * 100;
        return 0;
    case PERF_AVERAGE_TIMER:
        if (b <= 0 || n < 0) return 1;
        *value = n / f / b;
        return 0;
    case PERF_AVERAGE_BULK:
        if (b <= 0 || n < 0) return 1;
        *value = n / b;
        return 0;
    case PERF_ELAPSED_TIME:
        if (!now->value || now->denominator < now->value) return 1;
        *value = (double)(now->denominator - now->value) / f;
        return 0;
    default:
        return 1;
    }
}

/* The index of an object, from its name: an object has an index of its own, so the block says which one it is. */
static DWORD find_object(const WCHAR *name) {
    WCHAR *at = names, query[16];
    while (*at) {
        DWORD index = (DWORD)_ttoi(at);
        at += lstrlen(at) + 1;
        if (index > 1 && !lstrcmpi(at, name)) {
            PERF_DATA_BLOCK *block;
            int found;
            wsprintf(query, TEXT("%d"), index);
            block = (PERF_DATA_BLOCK *)query_registry(query);
            found = object_of_index(block, index) != NULL;
            free(block);
            if (found) return index;
        }
        at += lstrlen(at) + 1;
    }
    return 0;
}

int main(int argc, char **argv) {
    int argument, milliseconds = 1000, bad = 0;
    names = (WCHAR *)query_registry(TEXT("Counter 009"));
    for (argument = 1; argument < argc; argument++) {
        struct path *path = (struct path *)malloc(sizeof(struct path));
        struct raw old, now;
        WCHAR text[2048], query[16];
        BYTE *block;
        DWORD index;
        double value = 0;
        int found, none;
        if (!strcmp(argv[argument], "-i") && argument + 1 < argc) {
            milliseconds = atoi(argv[++argument]);
            free(path);
            continue;
        }
        if (!MultiByteToWideChar(CP_UTF8, 0, argv[argument], -1, text, 2048)) fail("a path is too long");
        parse(text, path);
        index = find_object(path->object);
        wsprintf(query, TEXT("%d"), index);
        block = query_registry(query);
        found = index && take((PERF_DATA_BLOCK *)block, object_of_index((PERF_DATA_BLOCK *)block, index), path, &old);
        free(block);
        Sleep((DWORD)milliseconds);
        block = query_registry(query);
        found = found && take((PERF_DATA_BLOCK *)block, object_of_index((PERF_DATA_BLOCK *)block, index), path, &now);
        free(block);
        free(path);
        if (!found) {
            printf("missing %s\n", argv[argument]);
            bad = 1;
            continue;
        }
        none = compute(&old, &now, &value);
        printf("%u %lld %lld %lld %lld %lld %u ", now.type, old.value, now.value, old.denominator, now.denominator,
               now.frequency, now.multi_count);
        if (none) printf("none\n");
        else printf("%.17g\n", value);
    }
    free(names);
    RegCloseKey(HKEY_PERFORMANCE_DATA);
    return bad;
}
