/* The paths of a log, paths LOG: expanded, checked, split, put together again, and read.
 *
 * It prints the value and the path of each one that stayed the same.
 */
#include <windows.h>
#include <pdh.h>
#include <pdhmsg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int same(PDH_HLOG log, const char *path)
{
    char made[PDH_MAX_COUNTER_PATH] = "";
    DWORD size = 0, room = sizeof made;
    PDH_COUNTER_PATH_ELEMENTS_A *parts;
    int is_same;
    if (PdhValidatePathExA(log, path) != ERROR_SUCCESS) {
        fprintf(stderr, "PdhValidatePathEx refuses %s\n", path);
        return 0;
    }
    if (PdhParseCounterPathA(path, NULL, &size, 0) != (PDH_STATUS)PDH_MORE_DATA || !(parts = malloc(size)))
        return 0;
    is_same = PdhParseCounterPathA(path, parts, &size, 0) == ERROR_SUCCESS
        && strcmp(parts->szObjectName, "Process") == 0 && strcmp(parts->szCounterName, "ID Process") == 0
        && PdhMakeCounterPathA(parts, made, &room, 0) == ERROR_SUCCESS && strcmp(made, path) == 0;
    if (!is_same)
        fprintf(stderr, "%s: made %s\n", path, made);
    free(parts);
    return is_same;
}

static long long value_of(PDH_HLOG log, const char *path)
{
    PDH_HQUERY query;
    PDH_HCOUNTER counter;
    PDH_FMT_COUNTERVALUE value = {0};
    PDH_STATUS status = PdhOpenQueryH(log, 0, &query);
    if (status == ERROR_SUCCESS)
        status = PdhAddCounterA(query, path, 0, &counter);
    if (status == ERROR_SUCCESS)
        status = PdhCollectQueryData(query);
    if (status == ERROR_SUCCESS)
        status = PdhGetFormattedCounterValue(counter, PDH_FMT_LARGE, NULL, &value);
    PdhCloseQuery(query);
    return status == ERROR_SUCCESS ? (long long)value.largeValue : -1;
}

int main(int argc, char **argv)
{
    PDH_HLOG log;
    DWORD size = 0;
    char *list, *path;
    /* A list of names, with an empty one at its end. */
    char names[1024] = "";
    if (argc != 2 || strlen(argv[1]) > sizeof names - 2)
        return 1;
    strcpy(names, argv[1]);
    if (PdhBindInputDataSourceA(&log, names) != ERROR_SUCCESS)
        return 1;
    if (PdhExpandWildCardPathHA(log, "\\Process(*)\\ID Process", NULL, &size, 0) != (PDH_STATUS)PDH_MORE_DATA)
        return 2;
    list = malloc(size);
    if (!list || PdhExpandWildCardPathHA(log, "\\Process(*)\\ID Process", list, &size, 0) != ERROR_SUCCESS)
        return 3;
    for (path = list; *path; path += strlen(path) + 1) {
        if (same(log, path))
            printf("%lld %s\n", value_of(log, path), path);
    }
    free(list);
    return PdhCloseLog(log, 0) == ERROR_SUCCESS ? 0 : 4;
}
