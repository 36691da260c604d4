/* A query with counters of several sources: neighbours COUNT PATH...
 *
 * It prints the status of each path when it is added, and for each of COUNT samples the status of the collection and
 * of each counter, with its value.
 */
#define UNICODE
#define _UNICODE
#include <windows.h>
#include <pdh.h>
#include <pdhmsg.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    PDH_HQUERY query;
    PDH_HCOUNTER counters[16];
    int count = 0, samples = argc > 1 ? atoi(argv[1]) : 0;
    if (PdhOpenQuery(NULL, 0, &query) != ERROR_SUCCESS)
        return 1;
    for (int at = 2; at < argc && count < 16; at++, count++) {
        WCHAR path[PDH_MAX_COUNTER_PATH];
        if (!MultiByteToWideChar(CP_UTF8, 0, argv[at], -1, path, PDH_MAX_COUNTER_PATH))
            return 2;
        counters[count] = NULL;
        printf("added %08X\n", (unsigned)PdhAddCounter(query, path, 0, &counters[count]));
    }
    for (int sample = 0; sample < samples; sample++) {
        printf("sample %08X\n", (unsigned)PdhCollectQueryData(query));
        for (int at = 0; at < count; at++) {
            PDH_FMT_COUNTERVALUE value = {0};
            PDH_STATUS status = PdhGetFormattedCounterValue(counters[at], PDH_FMT_LARGE, NULL, &value);
            printf("value %08X %lld\n", (unsigned)status, (long long)value.largeValue);
        }
        fflush(stdout);
    }
    return PdhCloseQuery(query) == ERROR_SUCCESS ? 0 : 3;
}
