/* Values of counter paths with wildcards, through pdh.h: pdh_wildcards [-n samples] [-i milliseconds] path...
 *
 * It prints what each path stands for, then after each sample one line for each instance: name, value, or the status.
 */
#define UNICODE
#define _UNICODE
#include <windows.h>
#include <pdh.h>
#include <pdhmsg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tchar.h>

static void print_expansion(LPCWSTR path) {
    DWORD size = 0;
    PDH_STATUS status = PdhExpandWildCardPath(NULL, path, NULL, &size, 0);
    WCHAR *list, *at;
    if ((DWORD)status != PDH_MORE_DATA) {
        _tprintf(TEXT("%s: 0x%08X\n"), path, status);
        return;
    }
    list = (WCHAR *)malloc(size * sizeof(WCHAR));
    status = PdhExpandWildCardPath(NULL, path, list, &size, 0);
    if (status == ERROR_SUCCESS)
        for (at = list; *at; at += lstrlen(at) + 1) _tprintf(TEXT("path %s\n"), at);
    free(list);
}

static void print_values(PDH_HCOUNTER counter) {
    DWORD bytes = 0, count = 0, item;
    PDH_FMT_COUNTERVALUE_ITEM *items;
    PDH_STATUS status = PdhGetFormattedCounterArray(counter, PDH_FMT_DOUBLE | PDH_FMT_NOCAP100, &bytes, &count, NULL);
    if ((DWORD)status != PDH_MORE_DATA) {
        _tprintf(TEXT("status 0x%08X\n"), status);
        return;
    }
    items = (PDH_FMT_COUNTERVALUE_ITEM *)malloc(bytes);
    status = PdhGetFormattedCounterArray(counter, PDH_FMT_DOUBLE | PDH_FMT_NOCAP100, &bytes, &count, items);
    for (item = 0; status == ERROR_SUCCESS && item < count; item++) {
        if (items[item].FmtValue.CStatus == PDH_CSTATUS_VALID_DATA)
            _tprintf(TEXT("value %s %.17g\n"), items[item].szName, items[item].FmtValue.doubleValue);
        else
            _tprintf(TEXT("none %s 0x%08X\n"), items[item].szName, items[item].FmtValue.CStatus);
    }
    free(items);
}

int main(int argc, char **argv) {
    PDH_HQUERY query;
    PDH_HCOUNTER counters[64];
    PDH_STATUS status;
    int argument, samples = 2, milliseconds = 1000, count = 0, sample, index;
    status = PdhOpenQuery(NULL, 0, &query);
    if (status != ERROR_SUCCESS) {
        _tprintf(TEXT("no query: 0x%08X\n"), status);
        return 1;
    }
    for (argument = 1; argument < argc; argument++) {
        WCHAR path[PDH_MAX_COUNTER_PATH];
        if (!strcmp(argv[argument], "-n") && argument + 1 < argc) {
            samples = atoi(argv[++argument]);
            continue;
        }
        if (!strcmp(argv[argument], "-i") && argument + 1 < argc) {
            milliseconds = atoi(argv[++argument]);
            continue;
        }
        if (count == 64 || !MultiByteToWideChar(CP_UTF8, 0, argv[argument], -1, path, PDH_MAX_COUNTER_PATH)) {
            fprintf(stderr, "%s: too many paths, or too long a path\n", argv[argument]);
            return 2;
        }
        print_expansion(path);
        status = PdhAddCounter(query, path, 0, &counters[count]);
        if (status != ERROR_SUCCESS) {
            _tprintf(TEXT("%s: 0x%08X\n"), path, status);
            return 3;
        }
        count++;
    }
    for (sample = 0; sample < samples; sample++) {
        if (sample) Sleep((DWORD)milliseconds);
        status = PdhCollectQueryData(query);
        _tprintf(TEXT("sample 0x%08X\n"), status);
        for (index = 0; index < count; index++) print_values(counters[index]);
    }
    PdhCloseQuery(query);
    return 0;
}
