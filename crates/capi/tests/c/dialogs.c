/* Shows a dialog and prints what the user chose, one path in a line, and then the status.
 *
 *   dialogs browse LOG     counters of a log, by its name; of this machine for ""
 *   dialogs handle LOG     counters of a log, by a handle, first with too little room for any
 *   dialogs one            one counter of this machine, with a wildcard for its instances
 *   dialogs object         an object of this machine
 *   dialogs source SIZE    a data source in a buffer of so many characters; a log only with SIZE below 0
 */
#include <windows.h>
#include <pdh.h>
#include <pdhmsg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The choices up to now, because a buffer has only the last one, and a terminal shows nothing below the dialog. */
static char chosen[65536];
static WCHAR small[8], larger[16], large[4096];

static PDH_STATUS WINAPI take(DWORD_PTR config) {
    const char *path = ((PDH_BROWSE_DLG_CONFIG_A *)config)->szReturnPathBuffer;
    for (; *path; path += strlen(path) + 1) {
        strcat(chosen, path);
        strcat(chosen, "\n");
    }
    return ERROR_SUCCESS;
}

/* The first two times there is too little room for any path. */
static PDH_STATUS WINAPI take_with_room(DWORD_PTR config) {
    PDH_BROWSE_DLG_CONFIG_HW *wanted = (PDH_BROWSE_DLG_CONFIG_HW *)config;
    const WCHAR *path = large;
    size_t length = strlen(chosen);
    /* There are two ways to say that the same is wanted again. */
    if ((DWORD)wanted->CallBackStatus == PDH_MORE_DATA && wanted->szReturnPathBuffer == small) {
        strcat(chosen, "more room\n");
        wanted->szReturnPathBuffer = larger;
        wanted->cchReturnPathLength = sizeof larger / sizeof *larger;
        return PDH_RETRY;
    }
    if ((DWORD)wanted->CallBackStatus == PDH_MORE_DATA && wanted->szReturnPathBuffer == larger) {
        strcat(chosen, "more room\n");
        wanted->szReturnPathBuffer = large;
        wanted->cchReturnPathLength = sizeof large / sizeof *large;
        wanted->CallBackStatus = PDH_RETRY;
        return ERROR_SUCCESS;
    }
    for (; *path; path += wcslen(path) + 1) {
        size_t at;
        for (at = 0; path[at]; at++) chosen[length++] = (char)path[at];
        chosen[length++] = '\n';
    }
    chosen[length] = 0;
    return ERROR_SUCCESS;
}

static PDH_STATUS of_handle(const char *log) {
    PDH_BROWSE_DLG_CONFIG_HW config = {0};
    char list[4096] = {0};
    PDH_STATUS status;
    /* A list of one name, which an empty one ends. */
    strncpy(list, log, sizeof list - 2);
    if ((status = PdhBindInputDataSourceA(&config.hDataSource, list))) return status;
    config.szReturnPathBuffer = small;
    config.cchReturnPathLength = sizeof small / sizeof *small;
    config.pCallBack = take_with_room;
    config.dwCallBackArg = (DWORD_PTR)&config;
    status = PdhBrowseCountersHW(&config);
    PdhCloseLog(config.hDataSource, 0);
    return status;
}

/* Has the choices taken one by one. */
static PDH_STATUS browse(PDH_BROWSE_DLG_CONFIG_A *config) {
    static char paths[16384] = "\\Processor(0)\\% User Time";
    config->szReturnPathBuffer = paths;
    config->cchReturnPathLength = sizeof paths;
    config->pCallBack = take;
    config->dwCallBackArg = (DWORD_PTR)config;
    return PdhBrowseCountersA(config);
}

static PDH_STATUS of_name(char *log) {
    PDH_BROWSE_DLG_CONFIG_A config = {0};
    config.szDataSource = *log ? log : NULL;
    return browse(&config);
}

static PDH_STATUS one(BOOL object) {
    PDH_BROWSE_DLG_CONFIG_A config = {0};
    config.bInitializePath = config.bSingleCounterPerDialog = TRUE;
    config.bWildCardInstances = !object;
    config.bShowObjectBrowser = object != FALSE;
    return browse(&config);
}

static PDH_STATUS source(int size) {
    static char name[4096] = "untouched";
    DWORD length = (DWORD)abs(size);
    PDH_STATUS status = PdhSelectDataSourceA(NULL, size < 0 ? PDH_FLAGS_FILE_BROWSER_ONLY : 0, name, &length);
    snprintf(chosen, sizeof chosen, "[%s]\n", name);
    return status;
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    char *with = argc > 2 ? argv[2] : (char *)"";
    PDH_STATUS status = !strcmp(what, "browse")   ? of_name(with)
                        : !strcmp(what, "handle") ? of_handle(with)
                        : !strcmp(what, "one")    ? one(FALSE)
                        : !strcmp(what, "object") ? one(TRUE)
                        : !strcmp(what, "source") ? source(atoi(with))
                                                  : (PDH_STATUS)PDH_INVALID_ARGUMENT;
    printf("%sstatus 0x%08X\n", chosen, (unsigned)status);
    return 0;
}
