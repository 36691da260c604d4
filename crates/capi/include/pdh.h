/* The performance data helper: counters by path, as values.
 *
 *   PdhOpenQuery -> PdhAddCounter ... -> PdhCollectQueryData, twice -> PdhGetFormattedCounterValue -> PdhCloseQuery
 *
 * Functions come from libtallymon. Names end with A for texts of bytes (UTF-8) and W for texts of 16-bit units; the plain
 * name is one of the two. What differs from Windows, and what is not there yet, is listed in docs/c-interface.md.
 */
#ifndef TALLYMON_PDH_H
#define TALLYMON_PDH_H

#include "windef.h"
#include "winperf.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef LONG PDH_STATUS;
#define PDH_FUNCTION PDH_STATUS WINAPI

typedef HANDLE PDH_HCOUNTER;
typedef HANDLE PDH_HQUERY;
typedef HANDLE PDH_HLOG;
typedef PDH_HCOUNTER HCOUNTER;
typedef PDH_HQUERY HQUERY;
#ifndef HLOG
typedef PDH_HLOG HLOG;
#endif
#define H_REALTIME_DATASOURCE NULL
#define H_WBEM_DATASOURCE INVALID_HANDLE_VALUE

#define PDH_CVERSION_WIN40 ((DWORD)(0x0400))
#define PDH_CVERSION_WIN50 ((DWORD)(0x0500))
#define PDH_VERSION ((DWORD)((PDH_CVERSION_WIN50) + 0x0003))

#define IsSuccessSeverity(status) ((((DWORD)(status)) & 0xC0000000u) == 0x00000000u)
#define IsInformationalSeverity(status) ((((DWORD)(status)) & 0xC0000000u) == 0x40000000u)
#define IsWarningSeverity(status) ((((DWORD)(status)) & 0xC0000000u) == 0x80000000u)
#define IsErrorSeverity(status) ((((DWORD)(status)) & 0xC0000000u) == 0xC0000000u)

/* Lengths in characters, with the zero. */
#define PDH_MAX_COUNTER_NAME 1024
#define PDH_MAX_INSTANCE_NAME 1024
#define PDH_MAX_COUNTER_PATH 2048
#define PDH_MAX_DATASOURCE_PATH 1024

#define PDH_MAX_SCALE (7L)
#define PDH_MIN_SCALE (-7L)

/* Formats of a value: one of LONG, DOUBLE and LARGE, and any of the flags below them. */
#define PDH_FMT_RAW ((DWORD)0x00000010)
#define PDH_FMT_ANSI ((DWORD)0x00000020)
#define PDH_FMT_UNICODE ((DWORD)0x00000040)
#define PDH_FMT_LONG ((DWORD)0x00000100)
#define PDH_FMT_DOUBLE ((DWORD)0x00000200)
#define PDH_FMT_LARGE ((DWORD)0x00000400)
#define PDH_FMT_NOSCALE ((DWORD)0x00001000)
#define PDH_FMT_1000 ((DWORD)0x00002000)
#define PDH_FMT_NODATA ((DWORD)0x00004000)
#define PDH_FMT_NOCAP100 ((DWORD)0x00008000)

#define PERF_DETAIL_COSTLY ((DWORD)0x00010000)
#define PERF_DETAIL_STANDARD ((DWORD)0x0000FFFF)
#define PDH_OBJECT_HAS_INSTANCES ((DWORD)0x00000001)

#define PDH_PATH_WBEM_RESULT ((DWORD)0x00000001)
#define PDH_PATH_WBEM_INPUT ((DWORD)0x00000002)
#define PDH_PATH_LANG_FLAGS(language, flags) ((DWORD)((((language)&0x0000FFFF) << 16) | ((flags)&0x0000FFFF)))

#define PDH_NOEXPANDCOUNTERS 1
#define PDH_NOEXPANDINSTANCES 2
#define PDH_REFRESHCOUNTERS 4

#define DATA_SOURCE_REGISTRY ((DWORD)0x00000001)
#define DATA_SOURCE_LOGFILE ((DWORD)0x00000002)
#define DATA_SOURCE_WBEM ((DWORD)0x00000004)

#define PDH_LOG_READ_ACCESS ((DWORD)0x00010000)
#define PDH_LOG_WRITE_ACCESS ((DWORD)0x00020000)
#define PDH_LOG_UPDATE_ACCESS ((DWORD)0x00040000)
#define PDH_LOG_ACCESS_MASK ((DWORD)0x000F0000)
#define PDH_LOG_CREATE_NEW ((DWORD)0x00000001)
#define PDH_LOG_CREATE_ALWAYS ((DWORD)0x00000002)
#define PDH_LOG_OPEN_ALWAYS ((DWORD)0x00000003)
#define PDH_LOG_OPEN_EXISTING ((DWORD)0x00000004)
#define PDH_LOG_CREATE_MASK ((DWORD)0x0000000F)
#define PDH_LOG_OPT_USER_STRING ((DWORD)0x01000000)
#define PDH_LOG_OPT_CIRCULAR ((DWORD)0x02000000)
#define PDH_LOG_OPT_MAX_IS_BYTES ((DWORD)0x04000000)
#define PDH_LOG_OPT_APPEND ((DWORD)0x08000000)
#define PDH_LOG_OPT_MASK ((DWORD)0x0F000000)
#define PDH_LOG_TYPE_UNDEFINED 0
#define PDH_LOG_TYPE_CSV 1
#define PDH_LOG_TYPE_TSV 2
#define PDH_LOG_TYPE_RETIRED_BIN 3
#define PDH_LOG_TYPE_TRACE_KERNEL 4
#define PDH_LOG_TYPE_TRACE_GENERIC 5
#define PDH_LOG_TYPE_PERFMON 6
#define PDH_LOG_TYPE_SQL 7
#define PDH_LOG_TYPE_BINARY 8
#define PDH_FLAGS_CLOSE_QUERY ((DWORD)0x00000001)
#define PDH_FLAGS_FILE_BROWSER_ONLY ((DWORD)0x00000001)

/* One sample of one counter. SecondValue is the clock or the base, by the type of the counter. */
typedef struct _PDH_RAW_COUNTER {
    volatile DWORD CStatus;
    FILETIME TimeStamp; /* local time */
    LONGLONG FirstValue;
    LONGLONG SecondValue;
    DWORD MultiCount;
} PDH_RAW_COUNTER, *PPDH_RAW_COUNTER;

typedef struct _PDH_FMT_COUNTERVALUE {
    DWORD CStatus;
    __extension__ union {
        LONG longValue;
        double doubleValue;
        LONGLONG largeValue;
        LPCSTR AnsiStringValue;
        LPCWSTR WideStringValue;
    };
} PDH_FMT_COUNTERVALUE, *PPDH_FMT_COUNTERVALUE;

typedef struct _PDH_STATISTICS {
    DWORD dwFormat;
    DWORD count;
    PDH_FMT_COUNTERVALUE min;
    PDH_FMT_COUNTERVALUE max;
    PDH_FMT_COUNTERVALUE mean;
} PDH_STATISTICS, *PPDH_STATISTICS;

/* Times of a log, in local time. */
typedef struct _PDH_TIME_INFO {
    LONGLONG StartTime;
    LONGLONG EndTime;
    DWORD SampleCount;
} PDH_TIME_INFO, *PPDH_TIME_INFO;

typedef struct _PDH_RAW_LOG_RECORD {
    DWORD dwStructureSize;
    DWORD dwRecordType;
    DWORD dwItems;
    UCHAR RawBytes[1];
} PDH_RAW_LOG_RECORD, *PPDH_RAW_LOG_RECORD;

typedef PDH_STATUS(WINAPI *CounterPathCallBack)(DWORD_PTR);

typedef struct _PDH_COUNTER_PATH_ELEMENTS_A {
    LPSTR szMachineName;
    LPSTR szObjectName;
    LPSTR szInstanceName;
    LPSTR szParentInstance;
    DWORD dwInstanceIndex; /* (DWORD)-1: none was written */
    LPSTR szCounterName;
} PDH_COUNTER_PATH_ELEMENTS_A, *PPDH_COUNTER_PATH_ELEMENTS_A;

typedef struct _PDH_COUNTER_PATH_ELEMENTS_W {
    LPWSTR szMachineName;
    LPWSTR szObjectName;
    LPWSTR szInstanceName;
    LPWSTR szParentInstance;
    DWORD dwInstanceIndex; /* (DWORD)-1: none was written */
    LPWSTR szCounterName;
} PDH_COUNTER_PATH_ELEMENTS_W, *PPDH_COUNTER_PATH_ELEMENTS_W;

typedef struct _PDH_DATA_ITEM_PATH_ELEMENTS_A {
    LPSTR szMachineName;
    GUID ObjectGUID;
    DWORD dwItemId;
    LPSTR szInstanceName;
} PDH_DATA_ITEM_PATH_ELEMENTS_A, *PPDH_DATA_ITEM_PATH_ELEMENTS_A;

typedef struct _PDH_DATA_ITEM_PATH_ELEMENTS_W {
    LPWSTR szMachineName;
    GUID ObjectGUID;
    DWORD dwItemId;
    LPWSTR szInstanceName;
} PDH_DATA_ITEM_PATH_ELEMENTS_W, *PPDH_DATA_ITEM_PATH_ELEMENTS_W;

typedef struct _PDH_COUNTER_INFO_A {
    DWORD dwLength;
    DWORD dwType; /* a counter type of winperf.h */
    DWORD CVersion;
    DWORD CStatus;
    LONG lScale;
    LONG lDefaultScale;
    DWORD_PTR dwUserData;
    DWORD_PTR dwQueryUserData;
    LPSTR szFullPath;
    __extension__ union {
        PDH_DATA_ITEM_PATH_ELEMENTS_A DataItemPath;
        PDH_COUNTER_PATH_ELEMENTS_A CounterPath;
        __extension__ struct {
            LPSTR szMachineName;
            LPSTR szObjectName;
            LPSTR szInstanceName;
            LPSTR szParentInstance;
            DWORD dwInstanceIndex;
            LPSTR szCounterName;
        };
    };
    LPSTR szExplainText; /* NULL unless it was asked for */
    DWORD DataBuffer[1];
} PDH_COUNTER_INFO_A, *PPDH_COUNTER_INFO_A;

typedef struct _PDH_COUNTER_INFO_W {
    DWORD dwLength;
    DWORD dwType; /* a counter type of winperf.h */
    DWORD CVersion;
    DWORD CStatus;
    LONG lScale;
    LONG lDefaultScale;
    DWORD_PTR dwUserData;
    DWORD_PTR dwQueryUserData;
    LPWSTR szFullPath;
    __extension__ union {
        PDH_DATA_ITEM_PATH_ELEMENTS_W DataItemPath;
        PDH_COUNTER_PATH_ELEMENTS_W CounterPath;
        __extension__ struct {
            LPWSTR szMachineName;
            LPWSTR szObjectName;
            LPWSTR szInstanceName;
            LPWSTR szParentInstance;
            DWORD dwInstanceIndex;
            LPWSTR szCounterName;
        };
    };
    LPWSTR szExplainText; /* NULL unless it was asked for */
    DWORD DataBuffer[1];
} PDH_COUNTER_INFO_W, *PPDH_COUNTER_INFO_W;

typedef struct _PDH_FMT_COUNTERVALUE_ITEM_A {
    LPSTR szName;
    PDH_FMT_COUNTERVALUE FmtValue;
} PDH_FMT_COUNTERVALUE_ITEM_A, *PPDH_FMT_COUNTERVALUE_ITEM_A;

typedef struct _PDH_FMT_COUNTERVALUE_ITEM_W {
    LPWSTR szName;
    PDH_FMT_COUNTERVALUE FmtValue;
} PDH_FMT_COUNTERVALUE_ITEM_W, *PPDH_FMT_COUNTERVALUE_ITEM_W;

typedef struct _PDH_RAW_COUNTER_ITEM_A {
    LPSTR szName;
    PDH_RAW_COUNTER RawValue;
} PDH_RAW_COUNTER_ITEM_A, *PPDH_RAW_COUNTER_ITEM_A;

typedef struct _PDH_RAW_COUNTER_ITEM_W {
    LPWSTR szName;
    PDH_RAW_COUNTER RawValue;
} PDH_RAW_COUNTER_ITEM_W, *PPDH_RAW_COUNTER_ITEM_W;

typedef struct _PDH_BROWSE_DLG_CONFIG_A {
    DWORD bIncludeInstanceIndex : 1, bSingleCounterPerAdd : 1, bSingleCounterPerDialog : 1, bLocalCountersOnly : 1,
        bWildCardInstances : 1, bHideDetailBox : 1, bInitializePath : 1, bDisableMachineSelection : 1,
        bIncludeCostlyObjects : 1, bShowObjectBrowser : 1, bReserved : 22;
    HWND hWndOwner;
    LPSTR szDataSource;
    LPSTR szReturnPathBuffer;
    DWORD cchReturnPathLength;
    CounterPathCallBack pCallBack;
    DWORD_PTR dwCallBackArg;
    PDH_STATUS CallBackStatus;
    DWORD dwDefaultDetailLevel;
    LPSTR szDialogBoxCaption;
} PDH_BROWSE_DLG_CONFIG_A, *PPDH_BROWSE_DLG_CONFIG_A;

typedef struct _PDH_BROWSE_DLG_CONFIG_W {
    DWORD bIncludeInstanceIndex : 1, bSingleCounterPerAdd : 1, bSingleCounterPerDialog : 1, bLocalCountersOnly : 1,
        bWildCardInstances : 1, bHideDetailBox : 1, bInitializePath : 1, bDisableMachineSelection : 1,
        bIncludeCostlyObjects : 1, bShowObjectBrowser : 1, bReserved : 22;
    HWND hWndOwner;
    LPWSTR szDataSource;
    LPWSTR szReturnPathBuffer;
    DWORD cchReturnPathLength;
    CounterPathCallBack pCallBack;
    DWORD_PTR dwCallBackArg;
    PDH_STATUS CallBackStatus;
    DWORD dwDefaultDetailLevel;
    LPWSTR szDialogBoxCaption;
} PDH_BROWSE_DLG_CONFIG_W, *PPDH_BROWSE_DLG_CONFIG_W;

typedef struct _PDH_BROWSE_DLG_CONFIG_HA {
    DWORD bIncludeInstanceIndex : 1, bSingleCounterPerAdd : 1, bSingleCounterPerDialog : 1, bLocalCountersOnly : 1,
        bWildCardInstances : 1, bHideDetailBox : 1, bInitializePath : 1, bDisableMachineSelection : 1,
        bIncludeCostlyObjects : 1, bShowObjectBrowser : 1, bReserved : 22;
    HWND hWndOwner;
    PDH_HLOG hDataSource;
    LPSTR szReturnPathBuffer;
    DWORD cchReturnPathLength;
    CounterPathCallBack pCallBack;
    DWORD_PTR dwCallBackArg;
    PDH_STATUS CallBackStatus;
    DWORD dwDefaultDetailLevel;
    LPSTR szDialogBoxCaption;
} PDH_BROWSE_DLG_CONFIG_HA, *PPDH_BROWSE_DLG_CONFIG_HA;

typedef struct _PDH_BROWSE_DLG_CONFIG_HW {
    DWORD bIncludeInstanceIndex : 1, bSingleCounterPerAdd : 1, bSingleCounterPerDialog : 1, bLocalCountersOnly : 1,
        bWildCardInstances : 1, bHideDetailBox : 1, bInitializePath : 1, bDisableMachineSelection : 1,
        bIncludeCostlyObjects : 1, bShowObjectBrowser : 1, bReserved : 22;
    HWND hWndOwner;
    PDH_HLOG hDataSource;
    LPWSTR szReturnPathBuffer;
    DWORD cchReturnPathLength;
    CounterPathCallBack pCallBack;
    DWORD_PTR dwCallBackArg;
    PDH_STATUS CallBackStatus;
    DWORD dwDefaultDetailLevel;
    LPWSTR szDialogBoxCaption;
} PDH_BROWSE_DLG_CONFIG_HW, *PPDH_BROWSE_DLG_CONFIG_HW;

PDH_STATUS WINAPI PdhGetDllVersion(LPDWORD version);
PDH_STATUS WINAPI PdhOpenQueryH(PDH_HLOG data_source, DWORD_PTR user_data, PDH_HQUERY *query);
PDH_STATUS WINAPI PdhCloseQuery(PDH_HQUERY query);
PDH_STATUS WINAPI PdhRemoveCounter(PDH_HCOUNTER counter);
BOOL WINAPI PdhIsRealTimeQuery(PDH_HQUERY query);

/* Takes a sample of every counter of the query. PDH_NO_DATA if not one of them has any. */
PDH_STATUS WINAPI PdhCollectQueryData(PDH_HQUERY query);
PDH_STATUS WINAPI PdhCollectQueryDataWithTime(PDH_HQUERY query, LONGLONG *time);
/* Takes a sample every so many seconds in a thread of its own, and sets the event after each. 0 seconds ends it. */
PDH_STATUS WINAPI PdhCollectQueryDataEx(PDH_HQUERY query, DWORD seconds, HANDLE event);
PDH_STATUS WINAPI PdhSetQueryTimeRange(PDH_HQUERY query, PPDH_TIME_INFO info);
PDH_STATUS WINAPI PdhSetDefaultRealTimeDataSource(DWORD data_source);

PDH_STATUS WINAPI PdhGetFormattedCounterValue(PDH_HCOUNTER counter, DWORD format, LPDWORD type,
                                              PPDH_FMT_COUNTERVALUE value);
PDH_STATUS WINAPI PdhGetRawCounterValue(PDH_HCOUNTER counter, LPDWORD type, PPDH_RAW_COUNTER value);
PDH_STATUS WINAPI PdhCalculateCounterFromRawValue(PDH_HCOUNTER counter, DWORD format, PPDH_RAW_COUNTER newer,
                                                  PPDH_RAW_COUNTER older, PPDH_FMT_COUNTERVALUE value);
PDH_STATUS WINAPI PdhFormatFromRawValue(DWORD type, DWORD format, LONGLONG *time_base, PPDH_RAW_COUNTER newer,
                                        PPDH_RAW_COUNTER older, PPDH_FMT_COUNTERVALUE value);
/* Over a ring of raw values: the position of the oldest, and how many there are. */
PDH_STATUS WINAPI PdhComputeCounterStatistics(PDH_HCOUNTER counter, DWORD format, DWORD first, DWORD entries,
                                              PPDH_RAW_COUNTER values, PPDH_STATISTICS statistics);
PDH_STATUS WINAPI PdhSetCounterScaleFactor(PDH_HCOUNTER counter, LONG factor);
PDH_STATUS WINAPI PdhGetCounterTimeBase(PDH_HCOUNTER counter, LONGLONG *time_base);

PDH_STATUS WINAPI PdhUpdateLogFileCatalog(PDH_HLOG log);
PDH_STATUS WINAPI PdhGetLogFileSize(PDH_HLOG log, LONGLONG *size);
PDH_STATUS WINAPI PdhCloseLog(PDH_HLOG log, DWORD flags);
PDH_STATUS WINAPI PdhGetDataSourceTimeRangeH(PDH_HLOG data_source, LPDWORD entries, PPDH_TIME_INFO info,
                                             LPDWORD bytes);
PDH_STATUS WINAPI PdhReadRawLogRecord(PDH_HLOG log, FILETIME time, PPDH_RAW_LOG_RECORD record, LPDWORD bytes);
PDH_STATUS WINAPI PdhGetLogSetGUID(PDH_HLOG log, GUID *guid, int *run);
PDH_STATUS WINAPI PdhSetLogSetRunID(PDH_HLOG log, int run);

/* One counter more. A counter or an instance that is not there yet is no error: its value says so, and comes when it comes. */
PDH_STATUS WINAPI PdhAddCounterA(PDH_HQUERY query, LPCSTR path, DWORD_PTR user_data, PDH_HCOUNTER *counter);
PDH_STATUS WINAPI PdhAddCounterW(PDH_HQUERY query, LPCWSTR path, DWORD_PTR user_data, PDH_HCOUNTER *counter);
/* The same with English names, whatever the language of the system. */
PDH_STATUS WINAPI PdhAddEnglishCounterA(PDH_HQUERY query, LPCSTR path, DWORD_PTR user_data, PDH_HCOUNTER *counter);
PDH_STATUS WINAPI PdhAddEnglishCounterW(PDH_HQUERY query, LPCWSTR path, DWORD_PTR user_data, PDH_HCOUNTER *counter);
/* A query over the live machine (NULL) or over a log file. */
PDH_STATUS WINAPI PdhOpenQueryA(LPCSTR data_source, DWORD_PTR user_data, PDH_HQUERY *query);
PDH_STATUS WINAPI PdhOpenQueryW(LPCWSTR data_source, DWORD_PTR user_data, PDH_HQUERY *query);
PDH_STATUS WINAPI PdhGetFormattedCounterArrayA(PDH_HCOUNTER counter, DWORD format, LPDWORD bytes, LPDWORD items,
                                               PPDH_FMT_COUNTERVALUE_ITEM_A buffer);
PDH_STATUS WINAPI PdhGetFormattedCounterArrayW(PDH_HCOUNTER counter, DWORD format, LPDWORD bytes, LPDWORD items,
                                               PPDH_FMT_COUNTERVALUE_ITEM_W buffer);
PDH_STATUS WINAPI PdhGetRawCounterArrayA(PDH_HCOUNTER counter, LPDWORD bytes, LPDWORD items,
                                         PPDH_RAW_COUNTER_ITEM_A buffer);
PDH_STATUS WINAPI PdhGetRawCounterArrayW(PDH_HCOUNTER counter, LPDWORD bytes, LPDWORD items,
                                         PPDH_RAW_COUNTER_ITEM_W buffer);
PDH_STATUS WINAPI PdhGetCounterInfoA(PDH_HCOUNTER counter, BOOLEAN with_explain_text, LPDWORD bytes,
                                     PPDH_COUNTER_INFO_A buffer);
PDH_STATUS WINAPI PdhGetCounterInfoW(PDH_HCOUNTER counter, BOOLEAN with_explain_text, LPDWORD bytes,
                                     PPDH_COUNTER_INFO_W buffer);
PDH_STATUS WINAPI PdhConnectMachineA(LPCSTR machine);
PDH_STATUS WINAPI PdhConnectMachineW(LPCWSTR machine);
PDH_STATUS WINAPI PdhEnumMachinesA(LPCSTR data_source, PZZSTR machines, LPDWORD characters);
PDH_STATUS WINAPI PdhEnumMachinesW(LPCWSTR data_source, PZZWSTR machines, LPDWORD characters);
PDH_STATUS WINAPI PdhEnumMachinesHA(PDH_HLOG data_source, PZZSTR machines, LPDWORD characters);
PDH_STATUS WINAPI PdhEnumMachinesHW(PDH_HLOG data_source, PZZWSTR machines, LPDWORD characters);
PDH_STATUS WINAPI PdhEnumObjectsA(LPCSTR data_source, LPCSTR machine, PZZSTR objects, LPDWORD characters,
                                  DWORD detail_level, BOOL refresh);
PDH_STATUS WINAPI PdhEnumObjectsW(LPCWSTR data_source, LPCWSTR machine, PZZWSTR objects, LPDWORD characters,
                                  DWORD detail_level, BOOL refresh);
PDH_STATUS WINAPI PdhEnumObjectsHA(PDH_HLOG data_source, LPCSTR machine, PZZSTR objects, LPDWORD characters,
                                   DWORD detail_level, BOOL refresh);
PDH_STATUS WINAPI PdhEnumObjectsHW(PDH_HLOG data_source, LPCWSTR machine, PZZWSTR objects, LPDWORD characters,
                                   DWORD detail_level, BOOL refresh);
PDH_STATUS WINAPI PdhEnumObjectItemsA(LPCSTR data_source, LPCSTR machine, LPCSTR object, PZZSTR counters,
                                      LPDWORD counters_characters, PZZSTR instances, LPDWORD instances_characters,
                                      DWORD detail_level, DWORD flags);
PDH_STATUS WINAPI PdhEnumObjectItemsW(LPCWSTR data_source, LPCWSTR machine, LPCWSTR object, PZZWSTR counters,
                                      LPDWORD counters_characters, PZZWSTR instances, LPDWORD instances_characters,
                                      DWORD detail_level, DWORD flags);
PDH_STATUS WINAPI PdhEnumObjectItemsHA(PDH_HLOG data_source, LPCSTR machine, LPCSTR object, PZZSTR counters,
                                       LPDWORD counters_characters, PZZSTR instances, LPDWORD instances_characters,
                                       DWORD detail_level, DWORD flags);
PDH_STATUS WINAPI PdhEnumObjectItemsHW(PDH_HLOG data_source, LPCWSTR machine, LPCWSTR object, PZZWSTR counters,
                                       LPDWORD counters_characters, PZZWSTR instances, LPDWORD instances_characters,
                                       DWORD detail_level, DWORD flags);
PDH_STATUS WINAPI PdhMakeCounterPathA(PPDH_COUNTER_PATH_ELEMENTS_A elements, LPSTR path, LPDWORD characters,
                                      DWORD flags);
PDH_STATUS WINAPI PdhMakeCounterPathW(PPDH_COUNTER_PATH_ELEMENTS_W elements, LPWSTR path, LPDWORD characters,
                                      DWORD flags);
PDH_STATUS WINAPI PdhParseCounterPathA(LPCSTR path, PPDH_COUNTER_PATH_ELEMENTS_A elements, LPDWORD bytes,
                                       DWORD flags);
PDH_STATUS WINAPI PdhParseCounterPathW(LPCWSTR path, PPDH_COUNTER_PATH_ELEMENTS_W elements, LPDWORD bytes,
                                       DWORD flags);
PDH_STATUS WINAPI PdhParseInstanceNameA(LPCSTR text, LPSTR instance, LPDWORD instance_characters, LPSTR parent,
                                        LPDWORD parent_characters, LPDWORD index);
PDH_STATUS WINAPI PdhParseInstanceNameW(LPCWSTR text, LPWSTR instance, LPDWORD instance_characters, LPWSTR parent,
                                        LPDWORD parent_characters, LPDWORD index);
PDH_STATUS WINAPI PdhValidatePathA(LPCSTR path);
PDH_STATUS WINAPI PdhValidatePathW(LPCWSTR path);
PDH_STATUS WINAPI PdhValidatePathExA(PDH_HLOG data_source, LPCSTR path);
PDH_STATUS WINAPI PdhValidatePathExW(PDH_HLOG data_source, LPCWSTR path);
PDH_STATUS WINAPI PdhGetDefaultPerfObjectA(LPCSTR data_source, LPCSTR machine, LPSTR object, LPDWORD characters);
PDH_STATUS WINAPI PdhGetDefaultPerfObjectW(LPCWSTR data_source, LPCWSTR machine, LPWSTR object, LPDWORD characters);
PDH_STATUS WINAPI PdhGetDefaultPerfObjectHA(PDH_HLOG data_source, LPCSTR machine, LPSTR object, LPDWORD characters);
PDH_STATUS WINAPI PdhGetDefaultPerfObjectHW(PDH_HLOG data_source, LPCWSTR machine, LPWSTR object, LPDWORD characters);
PDH_STATUS WINAPI PdhGetDefaultPerfCounterA(LPCSTR data_source, LPCSTR machine, LPCSTR object, LPSTR counter,
                                            LPDWORD characters);
PDH_STATUS WINAPI PdhGetDefaultPerfCounterW(LPCWSTR data_source, LPCWSTR machine, LPCWSTR object, LPWSTR counter,
                                            LPDWORD characters);
PDH_STATUS WINAPI PdhGetDefaultPerfCounterHA(PDH_HLOG data_source, LPCSTR machine, LPCSTR object, LPSTR counter,
                                             LPDWORD characters);
PDH_STATUS WINAPI PdhGetDefaultPerfCounterHW(PDH_HLOG data_source, LPCWSTR machine, LPCWSTR object, LPWSTR counter,
                                             LPDWORD characters);
PDH_STATUS WINAPI PdhBrowseCountersA(PPDH_BROWSE_DLG_CONFIG_A config);
PDH_STATUS WINAPI PdhBrowseCountersW(PPDH_BROWSE_DLG_CONFIG_W config);
PDH_STATUS WINAPI PdhBrowseCountersHA(PPDH_BROWSE_DLG_CONFIG_HA config);
PDH_STATUS WINAPI PdhBrowseCountersHW(PPDH_BROWSE_DLG_CONFIG_HW config);
PDH_STATUS WINAPI PdhExpandCounterPathA(LPCSTR pattern, PZZSTR paths, LPDWORD characters);
PDH_STATUS WINAPI PdhExpandCounterPathW(LPCWSTR pattern, PZZWSTR paths, LPDWORD characters);
PDH_STATUS WINAPI PdhExpandWildCardPathA(LPCSTR data_source, LPCSTR pattern, PZZSTR paths, LPDWORD characters,
                                         DWORD flags);
PDH_STATUS WINAPI PdhExpandWildCardPathW(LPCWSTR data_source, LPCWSTR pattern, PZZWSTR paths, LPDWORD characters,
                                         DWORD flags);
PDH_STATUS WINAPI PdhExpandWildCardPathHA(PDH_HLOG data_source, LPCSTR pattern, PZZSTR paths, LPDWORD characters,
                                          DWORD flags);
PDH_STATUS WINAPI PdhExpandWildCardPathHW(PDH_HLOG data_source, LPCWSTR pattern, PZZWSTR paths, LPDWORD characters,
                                          DWORD flags);
PDH_STATUS WINAPI PdhLookupPerfNameByIndexA(LPCSTR machine, DWORD index, LPSTR name, LPDWORD characters);
PDH_STATUS WINAPI PdhLookupPerfNameByIndexW(LPCWSTR machine, DWORD index, LPWSTR name, LPDWORD characters);
PDH_STATUS WINAPI PdhLookupPerfIndexByNameA(LPCSTR machine, LPCSTR name, LPDWORD index);
PDH_STATUS WINAPI PdhLookupPerfIndexByNameW(LPCWSTR machine, LPCWSTR name, LPDWORD index);
PDH_STATUS WINAPI PdhOpenLogA(LPCSTR name, DWORD access, LPDWORD type, PDH_HQUERY query, DWORD maximum,
                              LPCSTR caption, PDH_HLOG *log);
PDH_STATUS WINAPI PdhOpenLogW(LPCWSTR name, DWORD access, LPDWORD type, PDH_HQUERY query, DWORD maximum,
                              LPCWSTR caption, PDH_HLOG *log);
PDH_STATUS WINAPI PdhUpdateLogA(PDH_HLOG log, LPCSTR user_string);
PDH_STATUS WINAPI PdhUpdateLogW(PDH_HLOG log, LPCWSTR user_string);
PDH_STATUS WINAPI PdhSelectDataSourceA(HWND owner, DWORD flags, LPSTR data_source, LPDWORD characters);
PDH_STATUS WINAPI PdhSelectDataSourceW(HWND owner, DWORD flags, LPWSTR data_source, LPDWORD characters);
PDH_STATUS WINAPI PdhGetDataSourceTimeRangeA(LPCSTR data_source, LPDWORD entries, PPDH_TIME_INFO info, LPDWORD bytes);
PDH_STATUS WINAPI PdhGetDataSourceTimeRangeW(LPCWSTR data_source, LPDWORD entries, PPDH_TIME_INFO info,
                                             LPDWORD bytes);
PDH_STATUS WINAPI PdhBindInputDataSourceA(PDH_HLOG *data_source, LPCSTR names);
PDH_STATUS WINAPI PdhBindInputDataSourceW(PDH_HLOG *data_source, LPCWSTR names);
PDH_STATUS WINAPI PdhVerifySQLDBA(LPCSTR data_source);
PDH_STATUS WINAPI PdhVerifySQLDBW(LPCWSTR data_source);
PDH_STATUS WINAPI PdhCreateSQLTablesA(LPCSTR data_source);
PDH_STATUS WINAPI PdhCreateSQLTablesW(LPCWSTR data_source);
PDH_STATUS WINAPI PdhEnumLogSetNamesA(LPCSTR data_source, PZZSTR names, LPDWORD characters);
PDH_STATUS WINAPI PdhEnumLogSetNamesW(LPCWSTR data_source, PZZWSTR names, LPDWORD characters);

#ifdef UNICODE
#define PdhAddCounter PdhAddCounterW
#define PdhAddEnglishCounter PdhAddEnglishCounterW
#define PdhOpenQuery PdhOpenQueryW
#define PdhGetFormattedCounterArray PdhGetFormattedCounterArrayW
#define PdhGetRawCounterArray PdhGetRawCounterArrayW
#define PdhGetCounterInfo PdhGetCounterInfoW
#define PdhConnectMachine PdhConnectMachineW
#define PdhEnumMachines PdhEnumMachinesW
#define PdhEnumMachinesH PdhEnumMachinesHW
#define PdhEnumObjects PdhEnumObjectsW
#define PdhEnumObjectsH PdhEnumObjectsHW
#define PdhEnumObjectItems PdhEnumObjectItemsW
#define PdhEnumObjectItemsH PdhEnumObjectItemsHW
#define PdhMakeCounterPath PdhMakeCounterPathW
#define PdhParseCounterPath PdhParseCounterPathW
#define PdhParseInstanceName PdhParseInstanceNameW
#define PdhValidatePath PdhValidatePathW
#define PdhValidatePathEx PdhValidatePathExW
#define PdhGetDefaultPerfObject PdhGetDefaultPerfObjectW
#define PdhGetDefaultPerfObjectH PdhGetDefaultPerfObjectHW
#define PdhGetDefaultPerfCounter PdhGetDefaultPerfCounterW
#define PdhGetDefaultPerfCounterH PdhGetDefaultPerfCounterHW
#define PdhBrowseCounters PdhBrowseCountersW
#define PdhBrowseCountersH PdhBrowseCountersHW
#define PdhExpandCounterPath PdhExpandCounterPathW
#define PdhExpandWildCardPath PdhExpandWildCardPathW
#define PdhExpandWildCardPathH PdhExpandWildCardPathHW
#define PdhLookupPerfNameByIndex PdhLookupPerfNameByIndexW
#define PdhLookupPerfIndexByName PdhLookupPerfIndexByNameW
#define PdhOpenLog PdhOpenLogW
#define PdhUpdateLog PdhUpdateLogW
#define PdhSelectDataSource PdhSelectDataSourceW
#define PdhGetDataSourceTimeRange PdhGetDataSourceTimeRangeW
#define PdhBindInputDataSource PdhBindInputDataSourceW
#define PdhVerifySQLDB PdhVerifySQLDBW
#define PdhCreateSQLTables PdhCreateSQLTablesW
#define PdhEnumLogSetNames PdhEnumLogSetNamesW
#define PDH_COUNTER_PATH_ELEMENTS PDH_COUNTER_PATH_ELEMENTS_W
#define PPDH_COUNTER_PATH_ELEMENTS PPDH_COUNTER_PATH_ELEMENTS_W
#define PDH_DATA_ITEM_PATH_ELEMENTS PDH_DATA_ITEM_PATH_ELEMENTS_W
#define PPDH_DATA_ITEM_PATH_ELEMENTS PPDH_DATA_ITEM_PATH_ELEMENTS_W
#define PDH_COUNTER_INFO PDH_COUNTER_INFO_W
#define PPDH_COUNTER_INFO PPDH_COUNTER_INFO_W
#define PDH_FMT_COUNTERVALUE_ITEM PDH_FMT_COUNTERVALUE_ITEM_W
#define PPDH_FMT_COUNTERVALUE_ITEM PPDH_FMT_COUNTERVALUE_ITEM_W
#define PDH_RAW_COUNTER_ITEM PDH_RAW_COUNTER_ITEM_W
#define PPDH_RAW_COUNTER_ITEM PPDH_RAW_COUNTER_ITEM_W
#define PDH_BROWSE_DLG_CONFIG PDH_BROWSE_DLG_CONFIG_W
#define PPDH_BROWSE_DLG_CONFIG PPDH_BROWSE_DLG_CONFIG_W
#define PDH_BROWSE_DLG_CONFIG_H PDH_BROWSE_DLG_CONFIG_HW
#define PPDH_BROWSE_DLG_CONFIG_H PPDH_BROWSE_DLG_CONFIG_HW
#else
#define PdhAddCounter PdhAddCounterA
#define PdhAddEnglishCounter PdhAddEnglishCounterA
#define PdhOpenQuery PdhOpenQueryA
#define PdhGetFormattedCounterArray PdhGetFormattedCounterArrayA
#define PdhGetRawCounterArray PdhGetRawCounterArrayA
#define PdhGetCounterInfo PdhGetCounterInfoA
#define PdhConnectMachine PdhConnectMachineA
#define PdhEnumMachines PdhEnumMachinesA
#define PdhEnumMachinesH PdhEnumMachinesHA
#define PdhEnumObjects PdhEnumObjectsA
#define PdhEnumObjectsH PdhEnumObjectsHA
#define PdhEnumObjectItems PdhEnumObjectItemsA
#define PdhEnumObjectItemsH PdhEnumObjectItemsHA
#define PdhMakeCounterPath PdhMakeCounterPathA
#define PdhParseCounterPath PdhParseCounterPathA
#define PdhParseInstanceName PdhParseInstanceNameA
#define PdhValidatePath PdhValidatePathA
#define PdhValidatePathEx PdhValidatePathExA
#define PdhGetDefaultPerfObject PdhGetDefaultPerfObjectA
#define PdhGetDefaultPerfObjectH PdhGetDefaultPerfObjectHA
#define PdhGetDefaultPerfCounter PdhGetDefaultPerfCounterA
#define PdhGetDefaultPerfCounterH PdhGetDefaultPerfCounterHA
#define PdhBrowseCounters PdhBrowseCountersA
#define PdhBrowseCountersH PdhBrowseCountersHA
#define PdhExpandCounterPath PdhExpandCounterPathA
#define PdhExpandWildCardPath PdhExpandWildCardPathA
#define PdhExpandWildCardPathH PdhExpandWildCardPathHA
#define PdhLookupPerfNameByIndex PdhLookupPerfNameByIndexA
#define PdhLookupPerfIndexByName PdhLookupPerfIndexByNameA
#define PdhOpenLog PdhOpenLogA
#define PdhUpdateLog PdhUpdateLogA
#define PdhSelectDataSource PdhSelectDataSourceA
#define PdhGetDataSourceTimeRange PdhGetDataSourceTimeRangeA
#define PdhBindInputDataSource PdhBindInputDataSourceA
#define PdhVerifySQLDB PdhVerifySQLDBA
#define PdhCreateSQLTables PdhCreateSQLTablesA
#define PdhEnumLogSetNames PdhEnumLogSetNamesA
#define PDH_COUNTER_PATH_ELEMENTS PDH_COUNTER_PATH_ELEMENTS_A
#define PPDH_COUNTER_PATH_ELEMENTS PPDH_COUNTER_PATH_ELEMENTS_A
#define PDH_DATA_ITEM_PATH_ELEMENTS PDH_DATA_ITEM_PATH_ELEMENTS_A
#define PPDH_DATA_ITEM_PATH_ELEMENTS PPDH_DATA_ITEM_PATH_ELEMENTS_A
#define PDH_COUNTER_INFO PDH_COUNTER_INFO_A
#define PPDH_COUNTER_INFO PPDH_COUNTER_INFO_A
#define PDH_FMT_COUNTERVALUE_ITEM PDH_FMT_COUNTERVALUE_ITEM_A
#define PPDH_FMT_COUNTERVALUE_ITEM PPDH_FMT_COUNTERVALUE_ITEM_A
#define PDH_RAW_COUNTER_ITEM PDH_RAW_COUNTER_ITEM_A
#define PPDH_RAW_COUNTER_ITEM PPDH_RAW_COUNTER_ITEM_A
#define PDH_BROWSE_DLG_CONFIG PDH_BROWSE_DLG_CONFIG_A
#define PPDH_BROWSE_DLG_CONFIG PPDH_BROWSE_DLG_CONFIG_A
#define PDH_BROWSE_DLG_CONFIG_H PDH_BROWSE_DLG_CONFIG_HA
#define PPDH_BROWSE_DLG_CONFIG_H PPDH_BROWSE_DLG_CONFIG_HA
#endif

#define TALLYMON_PDH_AT(type, field, offset) \
    TALLYMON_STATIC_ASSERT(offsetof(type, field) == (offset), #type "." #field " is not where NT has it")

#if UINTPTR_MAX > 0xFFFFFFFFu
TALLYMON_PDH_AT(PDH_RAW_COUNTER, CStatus, 0);
TALLYMON_PDH_AT(PDH_RAW_COUNTER, TimeStamp, 4);
TALLYMON_PDH_AT(PDH_RAW_COUNTER, FirstValue, 16);
TALLYMON_PDH_AT(PDH_RAW_COUNTER, SecondValue, 24);
TALLYMON_PDH_AT(PDH_RAW_COUNTER, MultiCount, 32);
TALLYMON_STATIC_ASSERT(sizeof(PDH_RAW_COUNTER) == 40, "PDH_RAW_COUNTER has 40 bytes");
TALLYMON_PDH_AT(PDH_FMT_COUNTERVALUE, doubleValue, 8);
TALLYMON_STATIC_ASSERT(sizeof(PDH_FMT_COUNTERVALUE) == 16, "PDH_FMT_COUNTERVALUE has 16 bytes");
TALLYMON_PDH_AT(PDH_STATISTICS, min, 8);
TALLYMON_PDH_AT(PDH_STATISTICS, mean, 40);
TALLYMON_STATIC_ASSERT(sizeof(PDH_STATISTICS) == 56, "PDH_STATISTICS has 56 bytes");
TALLYMON_STATIC_ASSERT(sizeof(PDH_TIME_INFO) == 24, "PDH_TIME_INFO has 24 bytes");
TALLYMON_STATIC_ASSERT(sizeof(PDH_FMT_COUNTERVALUE_ITEM_W) == 24, "PDH_FMT_COUNTERVALUE_ITEM has 24 bytes");
TALLYMON_STATIC_ASSERT(sizeof(PDH_RAW_COUNTER_ITEM_W) == 48, "PDH_RAW_COUNTER_ITEM has 48 bytes");
TALLYMON_STATIC_ASSERT(sizeof(PDH_COUNTER_PATH_ELEMENTS_W) == 48, "PDH_COUNTER_PATH_ELEMENTS has 48 bytes");
TALLYMON_PDH_AT(PDH_COUNTER_INFO_W, dwUserData, 24);
TALLYMON_PDH_AT(PDH_COUNTER_INFO_W, szFullPath, 40);
TALLYMON_PDH_AT(PDH_COUNTER_INFO_W, szMachineName, 48);
TALLYMON_PDH_AT(PDH_COUNTER_INFO_W, szExplainText, 96);
TALLYMON_STATIC_ASSERT(sizeof(PDH_COUNTER_INFO_W) == 112, "PDH_COUNTER_INFO has 112 bytes");
#endif

#ifdef __cplusplus
}
#endif

#endif
