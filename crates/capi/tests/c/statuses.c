/* Every status of pdhmsg.h that something here gives: prints the name of each when it came, and what came instead. The
 * argument is a folder that logs can be written to. The statuses that nothing gives are listed in docs/c-interface.md. */
#define _GNU_SOURCE
#include "conformance.h"

#include <pty.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static PDH_HQUERY query;
static PDH_HCOUNTER processes, share, missing, other;
static PDH_FMT_COUNTERVALUE value;
static PDH_HLOG log_handle;
static DWORD count;
static char text[65536];

static void gives(const char *name, unsigned expected, unsigned found, const char *call) {
    line(call, found, expected, &same);
    if (found == expected) printf("%s\n", name);
}

#define GIVES(status, call) gives(#status, (unsigned)(status), (unsigned)(call), #call)

/* The status of opening a log to read it. */
static PDH_STATUS reading(const char *file) {
    PDH_HQUERY of_log;
    PDH_STATUS status = PdhOpenQueryA(file, 0, &of_log);
    if (!status) PdhCloseQuery(of_log);
    return status;
}

/* The status of opening a log to write it; it stays open. */
static PDH_STATUS writing(const char *file, DWORD access, DWORD type, DWORD maximum) {
    return PdhOpenLogA(file, access, &type, query, maximum, NULL, &log_handle);
}

static void file_of(const char *name, const char *content, size_t length) {
    FILE *file = fopen(name, "wb");
    if (!file) return;
    fwrite(content, 1, length, file);
    fclose(file);
}

/* What a user gets who ends the dialog of data sources on a terminal; the library is used in a process of its own. */
static unsigned cancelled(void) {
    int terminal, answer[2];
    unsigned status = 0;
    char letter = 0;
    pid_t child;
    if (pipe(answer)) return 0;
    child = forkpty(&terminal, NULL, NULL, NULL);
    if (!child) {
        status = (unsigned)PdhSelectDataSourceA(NULL, 0, text, sized(100));
        _exit(write(answer[1], &status, sizeof status) != sizeof status);
    }
    while (letter != ':' && read(terminal, &letter, 1) == 1);
    /* Ctrl-D is the end of what is typed. */
    if (write(terminal, "\4", 1) != 1 || read(answer[0], &status, sizeof status) != sizeof status) status = 0;
    close(terminal);
    waitpid(child, NULL, 0);
    return status;
}

static void queries(void) {
    PDH_HQUERY empty;
    PDH_COUNTER_INFO_A *info = (PDH_COUNTER_INFO_A *)text;
    GIVES(PDH_INVALID_ARGUMENT, PdhOpenQueryA(NULL, 0, NULL));
    IS(ERROR_SUCCESS, PdhOpenQueryA(NULL, 0, &query));
    IS(ERROR_SUCCESS, PdhOpenQueryA(NULL, 0, &empty));
    GIVES(PDH_NO_DATA, PdhCollectQueryData(empty));
    IS(ERROR_SUCCESS, PdhCloseQuery(empty));
    GIVES(PDH_INVALID_HANDLE, PdhCloseQuery(empty));
    GIVES(PDH_CSTATUS_NO_MACHINE, PdhAddCounterA(query, "\\\\elsewhere\\System\\Processes", 0, &other));
    GIVES(PDH_CSTATUS_NO_OBJECT, PdhAddCounterA(query, "\\Nothing\\Processes", 0, &other));
    GIVES(PDH_CSTATUS_NO_COUNTER, PdhAddCounterA(query, "\\System\\Nothing", 0, &other));
    GIVES(PDH_CSTATUS_NO_COUNTERNAME, PdhAddCounterA(query, "", 0, &other));
    GIVES(PDH_CSTATUS_BAD_COUNTERNAME, PdhAddCounterA(query, "\\System", 0, &other));
    IS(ERROR_SUCCESS, PdhAddCounterA(query, "\\System\\Processes", 0, &processes));
    IS(ERROR_SUCCESS, PdhAddCounterA(query, "\\Processor(_Total)\\% Processor Time", 0, &share));
    IS(ERROR_SUCCESS, PdhAddCounterA(query, "\\Process(no such one)\\ID Process", 0, &missing));
    IS(ERROR_SUCCESS, PdhGetCounterInfoA(processes, FALSE, sized(sizeof text), info));
    GIVES(PDH_CSTATUS_ITEM_NOT_VALIDATED, info->CStatus);
    IS(ERROR_SUCCESS, PdhCollectQueryData(query));
    IS(ERROR_SUCCESS, PdhGetFormattedCounterValue(processes, PDH_FMT_LONG, NULL, &value));
    GIVES(PDH_CSTATUS_VALID_DATA, value.CStatus);
    GIVES(PDH_INVALID_DATA, PdhGetFormattedCounterValue(share, PDH_FMT_LONG, NULL, &value));
    GIVES(PDH_CSTATUS_INVALID_DATA, value.CStatus);
    IS(PDH_INVALID_DATA, PdhGetFormattedCounterValue(missing, PDH_FMT_LONG, NULL, &value));
    GIVES(PDH_CSTATUS_NO_INSTANCE, value.CStatus);
    /* The same counter twice, each with a scale of its own. */
    IS(ERROR_SUCCESS, PdhAddCounterA(query, "\\System\\Processes", 0, &other));
    IS(ERROR_SUCCESS, PdhSetCounterScaleFactor(other, 7));
    IS(ERROR_SUCCESS, PdhCollectQueryData(query));
    IS(ERROR_SUCCESS, PdhGetFormattedCounterValue(other, PDH_FMT_DOUBLE, NULL, &value));
    IS(1, value.doubleValue >= 1e7);
    IS(ERROR_SUCCESS, PdhGetFormattedCounterValue(processes, PDH_FMT_DOUBLE, NULL, &value));
    IS(1, value.doubleValue < 1e7);
    IS(ERROR_SUCCESS, PdhRemoveCounter(other));
    GIVES(PDH_CANNOT_SET_DEFAULT_REALTIME_DATASOURCE, PdhSetDefaultRealTimeDataSource(DATA_SOURCE_WBEM));
}

/* Two samples of which something went back. */
static void computing(void) {
    PDH_RAW_COUNTER older, newer;
    LONGLONG ticks = 10000000;
    memset(&older, 0, sizeof older);
    memset(&newer, 0, sizeof newer);
    older.FirstValue = older.SecondValue = 10;
    newer.FirstValue = 5, newer.SecondValue = 20;
    GIVES(PDH_CALC_NEGATIVE_VALUE, PdhFormatFromRawValue(PERF_100NSEC_TIMER, PDH_FMT_LONG, &ticks, &newer, &older, &value));
    newer.FirstValue = 20, newer.SecondValue = 5;
    GIVES(PDH_CALC_NEGATIVE_TIMEBASE, PdhFormatFromRawValue(PERF_100NSEC_TIMER, PDH_FMT_LONG, &ticks, &newer, &older, &value));
    GIVES(PDH_CALC_NEGATIVE_DENOMINATOR, PdhFormatFromRawValue(PERF_PRECISION_100NS_TIMER, PDH_FMT_LONG, &ticks, &newer, &older, &value));
    /* Data that is new is as good as valid data. */
    newer.SecondValue = 40;
    newer.CStatus = PDH_CSTATUS_NEW_DATA;
    IS(ERROR_SUCCESS, PdhFormatFromRawValue(PERF_100NSEC_TIMER, PDH_FMT_LONG, &ticks, &newer, &older, &value));
    IS(PDH_CSTATUS_VALID_DATA, value.CStatus);
}

static void names(void) {
    GIVES(PDH_MORE_DATA, PdhEnumObjectsA(NULL, NULL, NULL, sized(0), PERF_DETAIL_WIZARD, FALSE));
    GIVES(PDH_INSUFFICIENT_BUFFER, PdhLookupPerfNameByIndexA(NULL, 6, text, sized(1)));
    GIVES(PDH_STRING_NOT_FOUND, PdhLookupPerfIndexByNameA(NULL, "Nothing", &count));
    GIVES(PDH_CANNOT_CONNECT_MACHINE, PdhLookupPerfIndexByNameA("elsewhere", "System", &count));
    GIVES(PDH_INVALID_PATH, PdhParseCounterPathA("\\System", (PPDH_COUNTER_PATH_ELEMENTS_A)text, sized(sizeof text), 0));
    GIVES(PDH_INVALID_INSTANCE, PdhParseInstanceNameA("", text, sized(100), text + 100, sized_too(100), NULL));
    GIVES(PDH_NO_DIALOG_DATA, PdhBrowseCountersA(NULL));
    GIVES(PDH_MEMORY_ALLOCATION_FAILURE, PdhSelectDataSourceA(NULL, 0, text, sized(0)));
}

static void logs(void) {
    const DWORD create = PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS;
    const char *future = "\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\a\\System\\Processes\"\r\n\"01/01/2199 00:00:00.000\",\"7\"\r\n";
    PDH_TIME_INFO info = {0, 0x7FFFFFFFFFFFFFFF, 0};
    LONGLONG length;
    PDH_HQUERY of_log;
    IS(ERROR_SUCCESS, writing("one.csv", create, PDH_LOG_TYPE_CSV, 0));
    IS(ERROR_SUCCESS, PdhUpdateLogA(log_handle, NULL));
    GIVES(PDH_NOT_IMPLEMENTED, PdhUpdateLogFileCatalog(log_handle));
    IS(ERROR_SUCCESS, PdhCloseLog(log_handle, 0));
    GIVES(PDH_FILE_ALREADY_EXISTS, writing("one.csv", PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_NEW, PDH_LOG_TYPE_CSV, 0));
    GIVES(PDH_UNKNOWN_LOG_FORMAT, writing("none", create, 99, 0));
    GIVES(PDH_LOG_FILE_CREATE_ERROR, writing("nothing/there.csv", create, PDH_LOG_TYPE_CSV, 0));
    IS(ERROR_SUCCESS, writing("small.csv", create | PDH_LOG_OPT_MAX_IS_BYTES, PDH_LOG_TYPE_CSV, 1));
    GIVES(PDH_LOG_FILE_TOO_SMALL, PdhUpdateLogA(log_handle, NULL));
    IS(ERROR_SUCCESS, PdhCloseLog(log_handle, 0));
    file_of("future.csv", future, strlen(future));
    GIVES(PDH_INCORRECT_APPEND_TIME, writing("future.csv", PDH_LOG_UPDATE_ACCESS | PDH_LOG_OPEN_EXISTING, PDH_LOG_TYPE_CSV, 0));
    IS(ERROR_SUCCESS, PdhOpenQueryA("one.csv", 0, &of_log));
    GIVES(PDH_ENTRY_NOT_IN_LOG_FILE, PdhAddCounterA(of_log, "\\System\\Threads", 0, &other));
    IS(ERROR_SUCCESS, PdhAddCounterA(of_log, "\\System\\Processes", 0, &other));
    IS(ERROR_SUCCESS, PdhCollectQueryData(of_log));
    GIVES(PDH_NO_MORE_DATA, PdhCollectQueryData(of_log));
    IS(ERROR_SUCCESS, PdhCloseQuery(of_log));
    GIVES(PDH_DATA_SOURCE_IS_REAL_TIME, PdhSetQueryTimeRange(query, &info));
    count = 0;
    IS(ERROR_SUCCESS, PdhOpenLogA("one.csv", PDH_LOG_READ_ACCESS | PDH_LOG_OPEN_EXISTING, &count, NULL, 0, NULL, &log_handle));
    remove("one.csv");
    GIVES(PDH_LOG_FILE_OPEN_ERROR, PdhGetLogFileSize(log_handle, &length));
    IS(ERROR_SUCCESS, PdhCloseLog(log_handle, 0));
    GIVES(PDH_FILE_NOT_FOUND, reading("one.csv"));
    file_of("words.csv", "words\n", 6);
    GIVES(PDH_LOG_TYPE_NOT_FOUND, reading("words.csv"));
    /* A log of our own format, of a version that is to come. */
    file_of("later.tally", "\x89TALLY\r\n\x02\0\0\0\0\0\0", 16);
    GIVES(PDH_UNABLE_READ_LOG_HEADER, reading("later.tally"));
    /* A binary log of which only the head is left. */
    IS(ERROR_SUCCESS, writing("cut.blg", create, PDH_LOG_TYPE_BINARY, 0));
    IS(ERROR_SUCCESS, PdhUpdateLogA(log_handle, NULL));
    IS(ERROR_SUCCESS, PdhCloseLog(log_handle, 0));
    IS(ERROR_SUCCESS, reading("cut.blg"));
    IS(0, truncate("cut.blg", 4096));
    GIVES(PDH_BINARY_LOG_CORRUPT, reading("cut.blg"));
    /* Who is root may read everything, and is somebody else for a moment. */
    IS(0, chmod("future.csv", 0));
    if (!geteuid()) IS(0, seteuid(65534));
    GIVES(PDH_ACCESS_DENIED, reading("future.csv"));
    if (!getuid()) IS(0, seteuid(0));
}

static void databases(void) {
    const DWORD create = PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS;
    GIVES(PDH_INVALID_DATASOURCE, PdhVerifySQLDBA("logs.db"));
    GIVES(PDH_SQL_CONNECT_FAILED, PdhVerifySQLDBA("SQL:logs.db"));
    GIVES(PDH_INVALID_SQL_LOG_FORMAT, writing("SQL:logs.db", create, PDH_LOG_TYPE_SQL, 0));
    file_of("logs.db", "", 0);
    GIVES(PDH_INVALID_SQLDB, PdhVerifySQLDBA("SQL:logs.db"));
    GIVES(PDH_SQL_EXEC_DIRECT_FAILED, PdhCreateSQLTablesA("SQL:words.csv"));
    IS(ERROR_SUCCESS, PdhCreateSQLTablesA("SQL:logs.db"));
    GIVES(PDH_NO_COUNTERS, reading("SQL:logs.db"));
}

int main(int argc, char **argv) {
    if (argc < 2 || chdir(argv[1])) return 2;
    GIVES(PDH_DIALOG_CANCELLED, cancelled());
    queries();
    computing();
    names();
    logs();
    databases();
    IS(ERROR_SUCCESS, PdhCloseQuery(query));
    return summary();
}
