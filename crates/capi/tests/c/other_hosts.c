/* Counters of another machine beside those of this one. Arguments: the file without which the other machine is gone, and
 * the log to write. Prints what each call returned. */
#include <windows.h>
#include <pdh.h>
#include <pdhmsg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void value(const char *name, PDH_HCOUNTER counter) {
    PDH_FMT_COUNTERVALUE value;
    PDH_STATUS status = PdhGetFormattedCounterValue(counter, PDH_FMT_LARGE, NULL, &value);
    printf("%s %08x %08x %s\n", name, (DWORD)status, value.CStatus,
           status == ERROR_SUCCESS && value.largeValue > 0 ? "positive" : "none");
}

int main(int argc, char **argv) {
    static char text[1 << 20];
    PDH_HQUERY query, only;
    PDH_HCOUNTER here, there, wild, alone;
    PDH_HLOG log;
    DWORD size = sizeof text, type = PDH_LOG_TYPE_BINARY, index = 0;
    if (argc != 3) return 1;
    printf("connect %08x\n", (DWORD)PdhConnectMachineA("\\\\far"));
    printf("unknown %08x\n", (DWORD)PdhConnectMachineA("\\\\nobody"));
    printf("dead %08x\n", (DWORD)PdhConnectMachineA("\\\\dead"));
    printf("machines %08x", (DWORD)PdhEnumMachinesA(NULL, text, &size));
    for (char *name = text; *name; name += strlen(name) + 1)
        if (!strcmp(name, "\\\\far")) printf(" %s", name);
    size = sizeof text;
    printf("\nobjects %08x\n", (DWORD)PdhEnumObjectsA(NULL, "\\\\far", text, &size, PERF_DETAIL_WIZARD, FALSE));
    size = sizeof text;
    printf("expand %08x", (DWORD)PdhExpandWildCardPathA(NULL, "\\\\far\\Processor(_Total)\\*", text, &size, 0));
    printf(" %d\n", !strncmp(text, "\\\\far\\Processor(_Total)\\", 23));
    printf("validate %08x %08x\n", (DWORD)PdhValidatePathA("\\\\far\\Memory\\Available Bytes"),
           (DWORD)PdhValidatePathA("\\\\far\\Memory\\Nonsense"));
    printf("index %08x", (DWORD)PdhLookupPerfIndexByNameA("\\\\far", "Memory", &index));
    printf(" %u\n", index);
    printf("other %08x\n", (DWORD)PdhLookupPerfIndexByNameA("\\\\nobody", "Memory", &index));
    if (PdhOpenQueryA(NULL, 0, &query)) return 2;
    printf("add %08x", (DWORD)PdhAddCounterA(query, "\\Memory\\Available Bytes", 0, &here));
    printf(" %08x", (DWORD)PdhAddEnglishCounterA(query, "\\\\FAR\\Memory\\Available Bytes", 0, &there));
    printf(" %08x", (DWORD)PdhAddCounterA(query, "\\\\far\\Processor(*)\\Interrupts/sec", 0, &wild));
    printf(" %08x", (DWORD)PdhAddCounterA(query, "\\\\dead\\Memory\\Available Bytes", 0, &alone));
    printf(" %08x\n", (DWORD)PdhAddCounterA(query, "\\\\far\\Memory\\Nonsense", 0, &alone));
    printf("open log %08x\n", (DWORD)PdhOpenLogA(argv[2], PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, &type,
                                                          query, 0, NULL, &log));
    printf("update %08x\n", (DWORD)PdhUpdateLogA(log, NULL));
    value("here", here);
    value("there", there);
    printf("update %08x\n", (DWORD)PdhUpdateLogA(log, NULL));
    /* The other machine goes. */
    remove(argv[1]);
    printf("collect %08x\n", (DWORD)PdhCollectQueryData(query));
    value("here", here);
    value("there", there);
    printf("update %08x\n", (DWORD)PdhUpdateLogA(log, NULL));
    printf("close %08x\n", (DWORD)PdhCloseLog(log, 0));
    printf("remove %08x", (DWORD)PdhRemoveCounter(there));
    printf(" %08x\n", (DWORD)PdhCloseQuery(query));
    /* A query without counters of this machine. */
    if (PdhOpenQueryA(NULL, 0, &only)) return 3;
    printf("gone %08x\n", (DWORD)PdhAddCounterA(only, "\\\\far\\Memory\\Available Bytes", 0, &alone));
    return PdhCloseQuery(only) != ERROR_SUCCESS;
}
