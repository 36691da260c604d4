/* Installs two services, the second with a language that is new here, and reads the tables of texts as MULTI_SZ.
 * The arguments are the two INI files. */
#include "conformance.h"

#include <loadperf.h>

static WCHAR table[1 << 21];
static DWORD bytes;

/* The table of this name, whose every text ends with a zero, and the last one with two. */
static int read_table(LPWSTR name) {
    DWORD type = 0;
    bytes = sizeof table;
    IS(ERROR_SUCCESS, RegQueryValueExW(HKEY_PERFORMANCE_DATA, name, NULL, &type, (LPBYTE)table, &bytes));
    IS(REG_MULTI_SZ, type);
    IS(0, bytes % sizeof(WCHAR));
    return bytes >= 4 && table[bytes / 2 - 1] == 0 && table[bytes / 2 - 2] == 0;
}

static size_t length(const WCHAR *text) {
    size_t n = 0;
    while (text[n] != 0) n++;
    return n;
}

static int equal(const WCHAR *text, const char *words) {
    size_t n = length(text), i = 0;
    while (i < n && words[i] != 0 && text[i] == (WCHAR)words[i]) i++;
    return i == n && words[i] == 0;
}

/* Whether the table has this text at this index. Programs walk it so: an index in decimal, then its text. */
static int has(const char *index, const char *words) {
    const WCHAR *at = table, *end = table + bytes / sizeof(WCHAR);
    while (at < end && *at != 0) {
        const WCHAR *text = at + length(at) + 1;
        if (equal(at, index)) return equal(text, words);
        at = text + length(text) + 1;
    }
    return 0;
}

static void install(const char *file) {
    char command[4096];
    snprintf(command, sizeof command, "lodctr %s", file);
    IS(ERROR_SUCCESS, LoadPerfCounterTextStringsA(command, TRUE));
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    install(arguments[1]);
    IS(1, read_table(W("Counter 009")));
    IS(1, has("1848", "One"));
    install(arguments[2]);
    /* The new table has everything that was there before, in English where there is nothing else. */
    IS(1, read_table(W("Counter 007")));
    IS(1, has("2", "System"));
    IS(1, has("1848", "One"));
    IS(1, has("1850", "Zwei"));
    IS(0, has("1851", "Hilfe zu Zwei"));
    IS(1, read_table(W("Help 007")));
    IS(1, has("1849", "Help of One"));
    IS(1, has("1851", "Hilfe zu Zwei"));
    IS(0, has("1850", "Zwei"));
    IS(1, read_table(W("Counter 009")));
    IS(1, has("1848", "One"));
    IS(1, has("1850", "Two"));
    IS(1, read_table(W("Help 009")));
    IS(1, has("1851", "Help of Two"));
    return summary();
}
