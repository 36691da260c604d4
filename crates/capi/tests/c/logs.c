/* Logs that are written, continued, circular, or in a database: what every function answers, see conformance.h. The first
 * argument is a folder that logs can be written to, the second one a log of Windows, or "", the third one what Windows
 * made a text log of it. */
#include "conformance.h"

static PDH_HQUERY query;
static PDH_HCOUNTER counter;
static PDH_HLOG recorded;
static DWORD kind;
static char name[4096], other[4096], buffer[65536];

static DWORD *typed(DWORD wanted) {
    kind = wanted;
    return &kind;
}

static void path(char *to, const char *before, const char *folder, const char *file) {
    snprintf(to, 4096, "%s%s/%s", before, folder, file);
}

/* How many records a log has that can be read; -1 when it cannot. */
static int records(const char *source) {
    PDH_TIME_INFO info;
    DWORD bytes = sizeof info, entries;
    return PdhGetDataSourceTimeRangeA(source, &entries, &info, &bytes) ? -1 : (int)info.SampleCount;
}

/* Writes so many records into a log that is opened in this way. */
static void write_records(const char *file, DWORD access, DWORD type, DWORD maximum, int number) {
    IS(ERROR_SUCCESS, PdhOpenLogA(file, access, typed(type), query, maximum, NULL, &recorded));
    while (number-- > 0) {
        IS(ERROR_SUCCESS, PdhUpdateLogA(recorded, NULL));
        Sleep(3);
    }
    IS(ERROR_SUCCESS, PdhCloseLog(recorded, 0));
}

static void continued(const char *folder) {
    static const struct {
        const char *file;
        DWORD type;
    } kinds[] = {{"on.csv", PDH_LOG_TYPE_CSV}, {"on.tsv", PDH_LOG_TYPE_TSV}, {"on.blg", PDH_LOG_TYPE_BINARY}};
    PDH_HQUERY reading;
    PDH_HCOUNTER read;
    PDH_FMT_COUNTERVALUE value;
    size_t at;
    for (at = 0; at < sizeof kinds / sizeof *kinds; at++) {
        int found = 0;
        path(name, "", folder, kinds[at].file);
        remove(name);
        /* What is not there yet becomes a new log, of a kind that has to be told. */
        IS(PDH_FILE_NOT_FOUND, PdhOpenLogA(name, PDH_LOG_READ_ACCESS | PDH_LOG_OPEN_EXISTING, typed(kinds[at].type), query, 0,
                                           NULL, &recorded));
        IS(PDH_UNKNOWN_LOG_FORMAT,
           PdhOpenLogA(name, PDH_LOG_UPDATE_ACCESS | PDH_LOG_OPEN_EXISTING, typed(0), query, 0, NULL, &recorded));
        write_records(name, PDH_LOG_UPDATE_ACCESS | PDH_LOG_OPEN_EXISTING, kinds[at].type, 0, 1);
        IS(1, records(name));
        remove(name);
        write_records(name, PDH_LOG_UPDATE_ACCESS | PDH_LOG_OPEN_ALWAYS, kinds[at].type, 0, 2);
        IS(2, records(name));
        /* The kind need not be told, and is found out. */
        write_records(name, PDH_LOG_UPDATE_ACCESS | PDH_LOG_OPEN_EXISTING, PDH_LOG_TYPE_UNDEFINED, 0, 3);
        IS(kinds[at].type, kind);
        IS(5, records(name));
        write_records(name, PDH_LOG_WRITE_ACCESS | PDH_LOG_OPEN_ALWAYS | PDH_LOG_OPT_APPEND, kinds[at].type, 0, 1);
        IS(6, records(name));
        /* It is one counter from the first record to the last. */
        IS(ERROR_SUCCESS, PdhOpenQueryA(name, 0, &reading));
        IS(ERROR_SUCCESS, PdhAddCounterA(reading, "\\System\\Processes", 0, &read));
        while (PdhCollectQueryData(reading) == ERROR_SUCCESS)
            found += !PdhGetFormattedCounterValue(read, PDH_FMT_DOUBLE, NULL, &value) && value.doubleValue >= 1.0;
        IS(6, found);
        IS(ERROR_SUCCESS, PdhCloseQuery(reading));
        IS(PDH_LOG_TYPE_NOT_FOUND,
           PdhOpenLogA(name, PDH_LOG_UPDATE_ACCESS | PDH_LOG_OPEN_EXISTING,
                       typed(kinds[at].type == PDH_LOG_TYPE_CSV ? PDH_LOG_TYPE_TSV : PDH_LOG_TYPE_CSV), query, 0, NULL, &recorded));
        /* A new one in its place has none of its records. */
        write_records(name, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, kinds[at].type, 0, 1);
        IS(1, records(name));
        remove(name);
    }
    /* What was never a log is not continued, and stays. */
    path(name, "", folder, "words.csv");
    {
        FILE *file = fopen(name, "wb");
        if (file) fputs("words\n", file), fclose(file);
    }
    IS(PDH_LOG_TYPE_NOT_FOUND,
       PdhOpenLogA(name, PDH_LOG_UPDATE_ACCESS | PDH_LOG_OPEN_EXISTING, typed(PDH_LOG_TYPE_CSV), query, 0, NULL, &recorded));
    remove(name);
}

/* A log that is continued with a counter more: it is a column from there on. */
static void continued_with_more(const char *folder) {
    static const struct {
        const char *file;
        DWORD type;
    } kinds[] = {{"more.csv", PDH_LOG_TYPE_CSV}, {"more.tsv", PDH_LOG_TYPE_TSV}, {"more.blg", PDH_LOG_TYPE_BINARY}};
    PDH_FMT_COUNTERVALUE value;
    PDH_HQUERY reading;
    PDH_HCOUNTER threads, first, second;
    size_t at;
    for (at = 0; at < sizeof kinds / sizeof *kinds; at++) {
        path(name, "", folder, kinds[at].file);
        write_records(name, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, kinds[at].type, 0, 1);
        IS(ERROR_SUCCESS, PdhAddCounterA(query, "\\System\\Threads", 0, &threads));
        write_records(name, PDH_LOG_UPDATE_ACCESS | PDH_LOG_OPEN_EXISTING, kinds[at].type, 0, 1);
        IS(ERROR_SUCCESS, PdhRemoveCounter(threads));
        IS(ERROR_SUCCESS, PdhOpenQueryA(name, 0, &reading));
        IS(ERROR_SUCCESS, PdhAddCounterA(reading, "\\System\\Processes", 0, &first));
        IS(ERROR_SUCCESS, PdhAddCounterA(reading, "\\System\\Threads", 0, &second));
        IS(ERROR_SUCCESS, PdhCollectQueryData(reading));
        IS(ERROR_SUCCESS, PdhGetFormattedCounterValue(first, PDH_FMT_DOUBLE, NULL, &value));
        IS(PDH_INVALID_DATA, PdhGetFormattedCounterValue(second, PDH_FMT_DOUBLE, NULL, &value));
        IS(ERROR_SUCCESS, PdhCollectQueryData(reading));
        IS(ERROR_SUCCESS, PdhGetFormattedCounterValue(first, PDH_FMT_DOUBLE, NULL, &value));
        IS(ERROR_SUCCESS, PdhGetFormattedCounterValue(second, PDH_FMT_DOUBLE, NULL, &value));
        IS(PDH_NO_MORE_DATA, PdhCollectQueryData(reading));
        IS(ERROR_SUCCESS, PdhCloseQuery(reading));
        remove(name);
    }
}

/* Whether a line begins and ends so, with the end that lines have on Windows. */
static int is_line(const char *line, const char *begin, const char *end) {
    size_t length = strlen(line), n = strlen(end);
    return length > n + 2 && !strcmp(line + length - 2, "\r\n") && !strncmp(line, begin, strlen(begin)) &&
           !strncmp(line + length - 2 - n, end, n);
}

/* Text logs line by line, with what the program says of the log and of its records. */
static void texts(const char *folder) {
    static const struct {
        const char *file, *begin, *caption, *first, *second;
        DWORD type;
    } kinds[] = {{"said.csv", "\"(PDH-CSV 4.0) (", "% Processor Time\",\"a \"\"caption\"\"\"", "\",\" \",\"first, of all\"", "\",\"\"",
                  PDH_LOG_TYPE_CSV},
                 {"said.tsv", "\"(PDH-TSV 4.0) (", "% Processor Time\"\t\"a \"\"caption\"\"\"", "\"\t\" \"\t\"first, of all\"",
                  "\"\t\"\"", PDH_LOG_TYPE_TSV}};
    const DWORD create = PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS;
    PDH_COUNTER_INFO_A *info = (PDH_COUNTER_INFO_A *)buffer;
    PDH_FMT_COUNTERVALUE value;
    PDH_HQUERY reading;
    PDH_HCOUNTER read, rate;
    char lines[6][4096];
    size_t at, count;
    FILE *file;
    IS(ERROR_SUCCESS, PdhAddCounterA(query, "\\Processor(_Total)\\% Processor Time", 0, &rate));
    for (at = 0; at < sizeof kinds / sizeof *kinds; at++) {
        path(name, "", folder, kinds[at].file);
        IS(ERROR_SUCCESS, PdhOpenLogA(name, create | PDH_LOG_OPT_USER_STRING, typed(kinds[at].type), query, 0, "a \"caption\"",
                                      &recorded));
        IS(ERROR_SUCCESS, PdhUpdateLogA(recorded, "first, of all"));
        Sleep(20);
        IS(ERROR_SUCCESS, PdhUpdateLogA(recorded, NULL));
        IS(ERROR_SUCCESS, PdhCloseLog(recorded, 0));
        /* The caption of a log that is there stays. */
        IS(ERROR_SUCCESS, PdhOpenLogA(name, PDH_LOG_UPDATE_ACCESS | PDH_LOG_OPEN_EXISTING | PDH_LOG_OPT_USER_STRING, typed(0), query,
                                      0, "another", &recorded));
        IS(ERROR_SUCCESS, PdhUpdateLogW(recorded, W("third")));
        IS(ERROR_SUCCESS, PdhCloseLog(recorded, 0));
        file = fopen(name, "rb");
        for (count = 0; file && count < 6 && fgets(lines[count], sizeof *lines, file); count++);
        if (file) fclose(file);
        IS(4, count);
        IS(TRUE, is_line(lines[0], kinds[at].begin, kinds[at].caption));
        /* The name of the zone and the minutes from local time to UTC. */
        IS(TRUE, strstr(lines[0], ")(") && strstr(lines[0], ")\""));
        /* The first sample of a rate has no value. */
        IS(TRUE, is_line(lines[1], "\"", kinds[at].first));
        IS(TRUE, is_line(lines[2], "\"", kinds[at].second));
        IS(TRUE, is_line(lines[3], "\"", "\"third\""));
        IS(TRUE, lines[1][3] == '/' && lines[1][6] == '/' && lines[1][11] == ' ' && lines[1][14] == ':' && lines[1][20] == '.');
        /* What it holds are values, and not what they were made of. */
        IS(ERROR_SUCCESS, PdhOpenQueryA(name, 0, &reading));
        IS(ERROR_SUCCESS, PdhAddCounterA(reading, "\\Processor(_Total)\\% Processor Time", 0, &read));
        IS(PDH_NO_DATA, PdhCollectQueryData(reading));
        IS(PDH_INVALID_DATA, PdhGetFormattedCounterValue(read, PDH_FMT_DOUBLE, NULL, &value));
        IS(ERROR_SUCCESS, PdhCollectQueryData(reading));
        IS(ERROR_SUCCESS, PdhGetFormattedCounterValue(read, PDH_FMT_DOUBLE, NULL, &value));
        IS(ERROR_SUCCESS, PdhGetCounterInfoA(read, FALSE, sized(sizeof buffer), info));
        IS(PERF_DOUBLE_RAW, info->dwType);
        IS(ERROR_SUCCESS, PdhCloseQuery(reading));
        remove(name);
    }
    IS(ERROR_SUCCESS, PdhRemoveCounter(rate));
}

/* A log of another time than now. */
static void of_the_future(const char *folder) {
    FILE *file;
    path(name, "", folder, "future.csv");
    file = fopen(name, "wb");
    if (file) {
        fputs("\"(PDH-CSV 4.0) (UTC)(0)\",\"\\\\a\\System\\Processes\"\r\n\"01/01/2199 00:00:00.000\",\"7\"\r\n", file);
        fclose(file);
    }
    IS(PDH_INCORRECT_APPEND_TIME,
       PdhOpenLogA(name, PDH_LOG_UPDATE_ACCESS | PDH_LOG_OPEN_EXISTING, typed(PDH_LOG_TYPE_CSV), query, 0, NULL, &recorded));
    remove(name);
}

/* A log that keeps its newest records, and one that takes no more when it is full. */
static void limited(const char *folder) {
    static const DWORD limit = 4096;
    LONGLONG length = 0;
    DWORD types[] = {PDH_LOG_TYPE_CSV, PDH_LOG_TYPE_BINARY};
    int at, number = 300;
    for (at = 0; at < 2; at++) {
        /* The buffers of a binary log alone have 64 KB each. */
        DWORD most = types[at] == PDH_LOG_TYPE_CSV ? limit : 32 * limit;
        path(name, "", folder, "ring.log");
        remove(name);
        IS(PDH_INVALID_ARGUMENT,
           PdhOpenLogA(name, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS | PDH_LOG_OPT_CIRCULAR, typed(types[at]), query, 0, NULL,
                       &recorded));
        write_records(name, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS | PDH_LOG_OPT_CIRCULAR | PDH_LOG_OPT_MAX_IS_BYTES,
                      types[at], most, number);
        IS(ERROR_SUCCESS, PdhOpenLogA(name, PDH_LOG_READ_ACCESS | PDH_LOG_OPEN_EXISTING, typed(0), NULL, 0, NULL, &recorded));
        IS(ERROR_SUCCESS, PdhGetLogFileSize(recorded, &length));
        IS(ERROR_SUCCESS, PdhCloseLog(recorded, 0));
        IS(1, length > 0 && length <= (LONGLONG)most);
        IS(1, records(name) > 0 && (records(name) < number || types[at] == PDH_LOG_TYPE_BINARY));
        remove(name);
    }
}

static void databases(const char *folder) {
    GUID guid, again;
    int run = -1, found = 0;
    LONGLONG length = 0;
    PDH_HQUERY reading;
    PDH_HCOUNTER read;
    path(other, "", folder, "logs.db");
    remove(other);
    path(name, "SQL:", folder, "logs.db");
    IS(PDH_INVALID_ARGUMENT, PdhVerifySQLDBA(NULL));
    IS(PDH_INVALID_DATASOURCE, PdhVerifySQLDBA("logs.db"));
    IS(PDH_SQL_CONNECT_FAILED, PdhVerifySQLDBA(name));
    IS(PDH_SQL_CONNECT_FAILED, PdhEnumLogSetNamesA(name, buffer, sized(sizeof buffer)));
    IS(PDH_SQL_CONNECT_FAILED, PdhCreateSQLTablesA("SQL:/nothing/there.db"));
    IS(PDH_INVALID_ARGUMENT, PdhCreateSQLTablesW(NULL));
    IS(ERROR_SUCCESS, PdhCreateSQLTablesA(name));
    IS(ERROR_SUCCESS, PdhCreateSQLTablesA(name));
    IS(ERROR_SUCCESS, PdhVerifySQLDBA(name));
    IS(PDH_INVALID_ARGUMENT, PdhEnumLogSetNamesA(name, NULL, NULL));
    IS(PDH_INVALID_DATASOURCE, PdhEnumLogSetNamesA("logs.db", buffer, sized(sizeof buffer)));
    IS(PDH_INVALID_SQL_LOG_FORMAT, PdhOpenLogA(name, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, typed(PDH_LOG_TYPE_SQL), query,
                                           0, NULL, &recorded));
    IS(PDH_INVALID_SQL_LOG_FORMAT, PdhOpenLogA(other, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, typed(PDH_LOG_TYPE_SQL), query,
                                           0, NULL, &recorded));
    path(name, "SQL:", folder, "logs.db!night");
    IS(PDH_FILE_NOT_FOUND, PdhOpenLogA(name, PDH_LOG_READ_ACCESS | PDH_LOG_OPEN_EXISTING, typed(0), NULL, 0, NULL, &recorded));
    IS(ERROR_SUCCESS, PdhOpenLogA(name, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_NEW, typed(PDH_LOG_TYPE_SQL), query, 0, NULL, &recorded));
    IS(PDH_INVALID_ARGUMENT, PdhGetLogSetGUID(recorded, NULL, NULL));
    IS(ERROR_SUCCESS, PdhGetLogSetGUID(recorded, &guid, &run));
    IS(0, run);
    IS(ERROR_SUCCESS, PdhSetLogSetRunID(recorded, 77));
    IS(ERROR_SUCCESS, PdhUpdateLogA(recorded, NULL));
    IS(ERROR_SUCCESS, PdhUpdateLogA(recorded, NULL));
    IS(ERROR_SUCCESS, PdhGetLogFileSize(recorded, &length));
    IS(2, length);
    IS(ERROR_SUCCESS, PdhCloseLog(recorded, 0));
    IS(PDH_FILE_ALREADY_EXISTS, PdhOpenLogA(name, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_NEW, typed(PDH_LOG_TYPE_SQL), query, 0,
                                            NULL, &recorded));
    IS(2, records(name));
    /* A second set in the same database, then more of the first one. */
    path(name, "sql:", folder, "logs.db!day");
    write_records(name, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, PDH_LOG_TYPE_SQL, 0, 3);
    IS(3, records(name));
    path(name, "SQL:", folder, "logs.db!night");
    write_records(name, PDH_LOG_UPDATE_ACCESS | PDH_LOG_OPEN_EXISTING, PDH_LOG_TYPE_UNDEFINED, 0, 4);
    IS(PDH_LOG_TYPE_SQL, kind);
    IS(6, records(name));
    path(name, "SQL:", folder, "logs.db");
    IS(9, records(name));
    IS(PDH_MORE_DATA, PdhEnumLogSetNamesA(name, NULL, sized(0)));
    IS(sizeof "day\0night\0", size);
    IS(ERROR_SUCCESS, PdhEnumLogSetNamesA(name, buffer, sized(sizeof buffer)));
    IS(0, memcmp(buffer, "day\0night\0", sizeof "day\0night\0"));
    path(name, "SQL:", folder, "logs.db!night");
    IS(ERROR_SUCCESS, PdhOpenLogA(name, PDH_LOG_READ_ACCESS | PDH_LOG_OPEN_EXISTING, typed(0), NULL, 0, NULL, &recorded));
    IS(PDH_LOG_TYPE_SQL, kind);
    IS(ERROR_SUCCESS, PdhGetLogSetGUID(recorded, &again, &run));
    IS(1, run == 77 && !memcmp(&guid, &again, sizeof guid));
    IS(ERROR_SUCCESS, PdhSetLogSetRunID(recorded, 78));
    IS(ERROR_SUCCESS, PdhGetLogSetGUID(recorded, NULL, &run));
    IS(78, run);
    IS(ERROR_SUCCESS, PdhOpenQueryH(recorded, 0, &reading));
    IS(ERROR_SUCCESS, PdhAddCounterA(reading, "\\System\\Processes", 0, &read));
    while (PdhCollectQueryData(reading) == ERROR_SUCCESS) found++;
    IS(6, found);
    IS(ERROR_SUCCESS, PdhCloseQuery(reading));
    IS(PDH_NOT_IMPLEMENTED, PdhReadRawLogRecord(recorded, (FILETIME){0, 0x7FFFFFFF}, NULL, sized(0)));
    /* The size of a log set is the number of its records. */
    IS(ERROR_SUCCESS, PdhGetLogFileSize(recorded, &length));
    IS(6, length);
    IS(ERROR_SUCCESS, PdhCloseLog(recorded, 0));
    /* Not more records than are allowed, the newest of them. */
    path(name, "SQL:", folder, "logs.db!ring");
    write_records(name, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS | PDH_LOG_OPT_CIRCULAR, PDH_LOG_TYPE_SQL, 5, 12);
    IS(5, records(name));
    IS(ERROR_SUCCESS, PdhOpenLogA(name, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, typed(PDH_LOG_TYPE_SQL), query, 1, NULL, &recorded));
    IS(ERROR_SUCCESS, PdhUpdateLogA(recorded, NULL));
    IS(PDH_LOG_FILE_TOO_SMALL, PdhUpdateLogA(recorded, NULL));
    IS(ERROR_SUCCESS, PdhCloseLog(recorded, 0));
    IS(1, records(name));
    path(name, "SQL:", folder, "logs.db!none");
    IS(-1, records(name));
    {
        /* A database without the tables of logs. */
        FILE *file = fopen(other, "wb");
        if (file) fclose(file);
        path(name, "SQL:", folder, "logs.db");
        IS(PDH_INVALID_SQLDB, PdhVerifySQLDBA(name));
    }
    remove(other);
}

/* Records as they stand in a file. */
static void raw_records(const char *folder, const char *windows) {
    PDH_RAW_LOG_RECORD *record = (PDH_RAW_LOG_RECORD *)buffer;
    FILETIME never = {0, 0}, any = {0, 0x7FFFFFFF}, first;
    PDH_TIME_INFO info;
    DWORD entries;
    char text[256];
    GUID guid;
    path(name, "", folder, "raw.csv");
    write_records(name, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, PDH_LOG_TYPE_CSV, 0, 2);
    IS(PDH_INVALID_HANDLE, PdhReadRawLogRecord(NULL, any, record, sized(sizeof buffer)));
    IS(ERROR_SUCCESS, PdhOpenLogA(name, PDH_LOG_READ_ACCESS | PDH_LOG_OPEN_EXISTING, typed(0), NULL, 0, NULL, &recorded));
    IS(PDH_INVALID_ARGUMENT, PdhReadRawLogRecord(recorded, any, record, NULL));
    IS(PDH_INVALID_ARGUMENT, PdhReadRawLogRecord(recorded, any, NULL, sized(100)));
    IS(PDH_MORE_DATA, PdhReadRawLogRecord(recorded, any, NULL, sized(0)));
    IS(PDH_MORE_DATA, PdhReadRawLogRecord(recorded, any, record, sized(size - 1)));
    IS(ERROR_SUCCESS, PdhReadRawLogRecord(recorded, any, record, sized(size)));
    IS(PDH_LOG_TYPE_CSV, record->dwRecordType);
    IS(record->dwStructureSize, offsetof(PDH_RAW_LOG_RECORD, RawBytes) + record->dwItems);
    /* "12/31/2026 23:59:59.999","7" */
    IS(1, record->RawBytes[0] == '"' && record->RawBytes[3] == '/' && record->RawBytes[record->dwItems - 1] == '"');
    /* The last one at a time or before it. */
    snprintf(text, sizeof text, "%.*s", (int)record->dwItems, (char *)record->RawBytes);
    IS(ERROR_SUCCESS, PdhGetDataSourceTimeRangeH(recorded, &entries, &info, sized(sizeof info)));
    first.dwLowDateTime = (DWORD)info.StartTime;
    first.dwHighDateTime = (DWORD)(info.StartTime >> 32);
    IS(ERROR_SUCCESS, PdhReadRawLogRecord(recorded, first, record, sized(sizeof buffer)));
    IS(1, strncmp(text, (char *)record->RawBytes, 26) != 0);
    first.dwLowDateTime = (DWORD)(info.EndTime - 1);
    first.dwHighDateTime = (DWORD)((info.EndTime - 1) >> 32);
    snprintf(text, sizeof text, "%.*s", (int)record->dwItems, (char *)record->RawBytes);
    IS(ERROR_SUCCESS, PdhReadRawLogRecord(recorded, first, record, sized(sizeof buffer)));
    IS(0, strncmp(text, (char *)record->RawBytes, 26));
    IS(PDH_ENTRY_NOT_IN_LOG_FILE, PdhReadRawLogRecord(recorded, never, record, sized(sizeof buffer)));
    IS(PDH_INVALID_DATASOURCE, PdhGetLogSetGUID(recorded, &guid, NULL));
    IS(PDH_INVALID_DATASOURCE, PdhSetLogSetRunID(recorded, 1));
    IS(ERROR_SUCCESS, PdhCloseLog(recorded, 0));
    IS(PDH_INVALID_HANDLE, PdhGetLogSetGUID(recorded, &guid, NULL));
    IS(PDH_INVALID_HANDLE, PdhSetLogSetRunID(recorded, 1));
    remove(name);
    if (!*windows) return;
    IS(ERROR_SUCCESS, PdhOpenLogA(windows, PDH_LOG_READ_ACCESS | PDH_LOG_OPEN_EXISTING, typed(0), NULL, 0, NULL, &recorded));
    IS(ERROR_SUCCESS, PdhReadRawLogRecord(recorded, any, record, sized(sizeof buffer)));
    /* Every sample of a binary log begins with these letters. */
    IS(1, record->dwRecordType == PDH_LOG_TYPE_BINARY && !memcmp(record->RawBytes, "BL\3\0", 4));
    IS(ERROR_SUCCESS, PdhCloseLog(recorded, 0));
}

enum { MOST_COUNTERS = 64 };

/* Adds every counter that a log has to some queries; how many those are. */
static int add_all(const char *log, int queries, const PDH_HQUERY *to, PDH_HCOUNTER counters[][MOST_COUNTERS]) {
    static char objects[16384], paths[65536];
    const char *forms[] = {"\\%s(*)\\*", "\\%s\\*"}, *object, *path_of;
    int at, side, n = 0;
    IS(ERROR_SUCCESS, PdhEnumObjectsA(log, NULL, objects, sized(sizeof objects), PERF_DETAIL_WIZARD, FALSE));
    for (object = objects; *object; object += strlen(object) + 1)
        for (at = 0; at < 2; at++) {
            snprintf(other, sizeof other, forms[at], object);
            IS(ERROR_SUCCESS, PdhExpandWildCardPathA(log, other, paths, sized(sizeof paths), 0));
            for (path_of = paths; *path_of && n < MOST_COUNTERS; path_of += strlen(path_of) + 1, n++)
                for (side = 0; side < queries; side++)
                    IS(ERROR_SUCCESS, PdhAddCounterA(to[side], path_of, 0, &counters[side][n]));
        }
    return n;
}

/* Every counter of a log has in each record the value that it has in another one. */
static void same_values(const char *one, const char *another) {
    const DWORD format = PDH_FMT_DOUBLE | PDH_FMT_NOCAP100;
    static PDH_HCOUNTER counters[2][MOST_COUNTERS];
    PDH_HQUERY queries[2];
    PDH_STATUS status[2];
    int at, side, n, number = 0, compared = 0, different = 0;
    IS(ERROR_SUCCESS, PdhOpenQueryA(one, 0, &queries[0]));
    IS(ERROR_SUCCESS, PdhOpenQueryA(another, 0, &queries[1]));
    n = add_all(one, 2, queries, counters);
    for (; !PdhCollectQueryData(queries[0]); number++) {
        PdhCollectQueryData(queries[1]);
        for (at = 0; at < n; at++) {
            PDH_FMT_COUNTERVALUE values[2];
            for (side = 0; side < 2; side++)
                status[side] = PdhGetFormattedCounterValue(counters[side][at], format, NULL, &values[side]);
            compared += !status[0];
            different += status[0] != status[1] || (!status[0] && values[0].doubleValue != values[1].doubleValue);
        }
    }
    IS(PDH_NO_MORE_DATA, PdhCollectQueryData(queries[1]));
    IS(25, number);
    IS(1, n > 5 && compared > 20 * n);
    IS(0, different);
    for (side = 0; side < 2; side++) IS(ERROR_SUCCESS, PdhCloseQuery(queries[side]));
}

/* Records of a log that are written into others: all of them, each second one, and some. */
static void copied(const char *folder, const char *windows) {
    static const struct {
        const char *before, *file, *taken;
        DWORD type;
        int records;
    } copies[] = {{"", "copy.blg", "1111111111111111111111111", PDH_LOG_TYPE_BINARY, 25},
                  {"SQL:", "copy.db!all", "1111111111111111111111111", PDH_LOG_TYPE_SQL, 25},
                  {"", "copy.csv", "0101010101010101010101010", PDH_LOG_TYPE_CSV, 12},
                  {"", "copy.tsv", "1001101000000000000000011", PDH_LOG_TYPE_TSV, 6}};
    static PDH_HCOUNTER counters[2][MOST_COUNTERS];
    PDH_HQUERY queries[2];
    PDH_TIME_INFO part;
    DWORD entries;
    size_t at;
    if (!*windows) return;
    for (at = 0; at < sizeof copies / sizeof *copies; at++) {
        const char *taken;
        LONGLONG time, first = 0, last = 0;
        path(name, copies[at].before, folder, copies[at].file);
        IS(ERROR_SUCCESS, PdhOpenQueryA(windows, 0, &queries[0]));
        IS(ERROR_SUCCESS, PdhOpenQueryA(windows, 0, &queries[1]));
        add_all(windows, 2, queries, counters);
        IS(ERROR_SUCCESS, PdhOpenLogA(name, PDH_LOG_WRITE_ACCESS | PDH_LOG_CREATE_ALWAYS, typed(copies[at].type), queries[0], 0,
                                      NULL, &recorded));
        /* A record that is collected and not written is left out. */
        for (taken = copies[at].taken; *taken; taken++) {
            IS(ERROR_SUCCESS, PdhCollectQueryDataWithTime(queries[1], &time));
            if (*taken == '1') {
                IS(ERROR_SUCCESS, PdhUpdateLogA(recorded, NULL));
                first = first ? first : time;
                last = time;
            } else {
                IS(ERROR_SUCCESS, PdhCollectQueryData(queries[0]));
            }
        }
        IS(PDH_NO_MORE_DATA, PdhUpdateLogA(recorded, NULL));
        IS(ERROR_SUCCESS, PdhCloseLog(recorded, PDH_FLAGS_CLOSE_QUERY));
        IS(copies[at].records, records(name));
        IS(ERROR_SUCCESS, PdhGetDataSourceTimeRangeA(name, &entries, &part, sized(sizeof part)));
        /* Texts and databases have milliseconds. */
        IS(1, llabs(part.StartTime - first) < 10000 && llabs(part.EndTime - last) < 10000);
        if (copies[at].records == 25) same_values(windows, name);
        IS(ERROR_SUCCESS, PdhCloseQuery(queries[1]));
        remove(name);
    }
}

static void sources(const char *windows) {
    DWORD bytes = 10;
    IS(PDH_INVALID_ARGUMENT, PdhSelectDataSourceA(NULL, 0, buffer, NULL));
    IS(PDH_INVALID_ARGUMENT, PdhSelectDataSourceA(NULL, 0, NULL, &bytes));
    IS(PDH_INVALID_ARGUMENT, PdhSelectDataSourceA(NULL, 0x80, buffer, sized(sizeof buffer)));
    IS(PDH_MEMORY_ALLOCATION_FAILURE, PdhSelectDataSourceA(NULL, 0, buffer, sized(0)));
    DIFFERS(PDH_NOT_IMPLEMENTED, ERROR_SUCCESS, "the dialog is on a terminal, and this program has none",
            PdhSelectDataSourceW(NULL, PDH_FLAGS_FILE_BROWSER_ONLY, (LPWSTR)buffer, sized(100)));
    memset(buffer, 0, sizeof buffer);
    strcpy(buffer, "SQL:a.db!one");
    strcpy(buffer + strlen(buffer) + 1, *windows ? windows : "x.blg");
    IS(PDH_INVALID_DATASOURCE, PdhBindInputDataSourceA(&recorded, buffer));
}

int main(int argc, char **argv) {
    const char *folder = argc > 1 ? argv[1] : ".", *windows = argc > 2 ? argv[2] : "", *written = argc > 3 ? argv[3] : "";
    IS(ERROR_SUCCESS, PdhOpenQueryA(NULL, 0, &query));
    IS(ERROR_SUCCESS, PdhAddCounterA(query, "\\System\\Processes", 0, &counter));
    continued(folder);
    continued_with_more(folder);
    texts(folder);
    of_the_future(folder);
    limited(folder);
    databases(folder);
    raw_records(folder, windows);
    /* What Windows wrote into a text log of the binary one. */
    if (*written) same_values(windows, written);
    copied(folder, windows);
    sources(windows);
    IS(ERROR_SUCCESS, PdhCloseQuery(query));
    return summary();
}
