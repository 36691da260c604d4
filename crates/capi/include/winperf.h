/* The performance data block of HKEY_PERFORMANCE_DATA: its structures, and the types of counters.
 *
 *   PERF_DATA_BLOCK | system name | NumObjectTypes x (PERF_OBJECT_TYPE | NumCounters x PERF_COUNTER_DEFINITION | body)
 *   body without instances: PERF_COUNTER_BLOCK and its data
 *   body with instances:    NumInstances x (PERF_INSTANCE_DEFINITION and its name | PERF_COUNTER_BLOCK and its data)
 *
 * Step from structure to structure by the lengths in the data, never by sizeof.
 */
#ifndef TALLYMON_WINPERF_H
#define TALLYMON_WINPERF_H

#include "windef.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PERF_DATA_VERSION 1
#define PERF_DATA_REVISION 1

typedef struct _PERF_DATA_BLOCK {
    WCHAR Signature[4];            /* "PERF" */
    DWORD LittleEndian;            /* 1: the numbers are little endian */
    DWORD Version;
    DWORD Revision;
    DWORD TotalByteLength;         /* of everything */
    DWORD HeaderLength;            /* to the first object */
    DWORD NumObjectTypes;
    LONG DefaultObject;            /* title index of the object to be shown first, -1 none */
    SYSTEMTIME SystemTime;         /* UTC */
    LARGE_INTEGER PerfTime;        /* the performance counter */
    LARGE_INTEGER PerfFreq;        /* its ticks per second */
    LARGE_INTEGER PerfTime100nSec; /* 100 ns since 1601 */
    DWORD SystemNameLength;        /* bytes */
    DWORD SystemNameOffset;        /* from the start of this structure */
} PERF_DATA_BLOCK, *PPERF_DATA_BLOCK;

typedef struct _PERF_OBJECT_TYPE {
    DWORD TotalByteLength;  /* to the next object */
    DWORD DefinitionLength; /* to the first instance, or to the counter block */
    DWORD HeaderLength;     /* to the first counter definition */
    DWORD ObjectNameTitleIndex;
#if UINTPTR_MAX > 0xFFFFFFFFu
    DWORD ObjectNameTitle; /* for the reader's use; a pointer on 32-bit machines */
#else
    LPWSTR ObjectNameTitle;
#endif
    DWORD ObjectHelpTitleIndex;
#if UINTPTR_MAX > 0xFFFFFFFFu
    DWORD ObjectHelpTitle;
#else
    LPWSTR ObjectHelpTitle;
#endif
    DWORD DetailLevel;
    DWORD NumCounters;
    LONG DefaultCounter; /* position of the counter to be shown first, -1 none */
    LONG NumInstances;   /* PERF_NO_INSTANCES: one counter block follows */
    DWORD CodePage;      /* of the names of instances; 0 is UTF-16 */
    LARGE_INTEGER PerfTime;
    LARGE_INTEGER PerfFreq;
} PERF_OBJECT_TYPE, *PPERF_OBJECT_TYPE;

#define PERF_NO_INSTANCES -1
#define PERF_METADATA_MULTIPLE_INSTANCES -2
#define PERF_METADATA_NO_INSTANCES -3

typedef struct _PERF_COUNTER_DEFINITION {
    DWORD ByteLength; /* to the next definition */
    DWORD CounterNameTitleIndex;
#if UINTPTR_MAX > 0xFFFFFFFFu
    DWORD CounterNameTitle;
#else
    LPWSTR CounterNameTitle;
#endif
    DWORD CounterHelpTitleIndex;
#if UINTPTR_MAX > 0xFFFFFFFFu
    DWORD CounterHelpTitle;
#else
    LPWSTR CounterHelpTitle;
#endif
    LONG DefaultScale; /* power of ten, for charts */
    DWORD DetailLevel;
    DWORD CounterType;
    DWORD CounterSize;   /* bytes */
    DWORD CounterOffset; /* from the start of PERF_COUNTER_BLOCK */
} PERF_COUNTER_DEFINITION, *PPERF_COUNTER_DEFINITION;

#define PERF_NO_UNIQUE_ID -1

typedef struct _PERF_INSTANCE_DEFINITION {
    DWORD ByteLength;             /* to the counter block */
    DWORD ParentObjectTitleIndex; /* 0: no parent */
    DWORD ParentObjectInstance;   /* position in that object */
    LONG UniqueID;                /* PERF_NO_UNIQUE_ID: the name says who it is */
    DWORD NameOffset;             /* from the start of this structure */
    DWORD NameLength;             /* bytes, with the zero */
} PERF_INSTANCE_DEFINITION, *PPERF_INSTANCE_DEFINITION;

typedef struct _PERF_COUNTER_BLOCK {
    DWORD ByteLength; /* with the data that follows */
} PERF_COUNTER_BLOCK, *PPERF_COUNTER_BLOCK;

#define PERF_DETAIL_NOVICE 100
#define PERF_DETAIL_ADVANCED 200
#define PERF_DETAIL_EXPERT 300
#define PERF_DETAIL_WIZARD 400

/* Bits of CounterType: size of the data. */
#define PERF_SIZE_DWORD 0x00000000
#define PERF_SIZE_LARGE 0x00000100
#define PERF_SIZE_ZERO 0x00000200
#define PERF_SIZE_VARIABLE_LEN 0x00000300
/* What it is. */
#define PERF_TYPE_NUMBER 0x00000000
#define PERF_TYPE_COUNTER 0x00000400
#define PERF_TYPE_TEXT 0x00000800
#define PERF_TYPE_ZERO 0x00000C00
/* Of a number: how it is shown. */
#define PERF_NUMBER_HEX 0x00000000
#define PERF_NUMBER_DECIMAL 0x00010000
#define PERF_NUMBER_DEC_1000 0x00020000
/* Of a counter: how it is computed. */
#define PERF_COUNTER_VALUE 0x00000000
#define PERF_COUNTER_RATE 0x00010000
#define PERF_COUNTER_FRACTION 0x00020000
#define PERF_COUNTER_BASE 0x00030000
#define PERF_COUNTER_ELAPSED 0x00040000
#define PERF_COUNTER_QUEUELEN 0x00050000
#define PERF_COUNTER_HISTOGRAM 0x00060000
#define PERF_COUNTER_PRECISION 0x00070000
/* Of a text. */
#define PERF_TEXT_UNICODE 0x00000000
#define PERF_TEXT_ASCII 0x00010000
/* Which clock. */
#define PERF_TIMER_TICK 0x00000000
#define PERF_TIMER_100NS 0x00100000
#define PERF_OBJECT_TIMER 0x00200000
/* What is done before it is shown. */
#define PERF_DELTA_COUNTER 0x00400000
#define PERF_DELTA_BASE 0x00800000
#define PERF_INVERSE_COUNTER 0x01000000
#define PERF_MULTI_COUNTER 0x02000000
/* What stands behind it. */
#define PERF_DISPLAY_NO_SUFFIX 0x00000000
#define PERF_DISPLAY_PER_SEC 0x10000000
#define PERF_DISPLAY_PERCENT 0x20000000
#define PERF_DISPLAY_SECONDS 0x30000000
#define PERF_DISPLAY_NOSHOW 0x40000000

/* The types that are in use. */
#define PERF_COUNTER_RAWCOUNT_HEX 0x00000000
#define PERF_COUNTER_LARGE_RAWCOUNT_HEX 0x00000100
#define PERF_COUNTER_TEXT 0x00000B00
#define PERF_COUNTER_RAWCOUNT 0x00010000
#define PERF_COUNTER_LARGE_RAWCOUNT 0x00010100
#define PERF_DOUBLE_RAW 0x00012000
#define PERF_COUNTER_DELTA 0x00400400
#define PERF_COUNTER_LARGE_DELTA 0x00400500
#define PERF_SAMPLE_COUNTER 0x00410400
#define PERF_COUNTER_QUEUELEN_TYPE 0x00450400
#define PERF_COUNTER_LARGE_QUEUELEN_TYPE 0x00450500
#define PERF_COUNTER_100NS_QUEUELEN_TYPE 0x00550500
#define PERF_COUNTER_OBJ_TIME_QUEUELEN_TYPE 0x00650500
#define PERF_COUNTER_COUNTER 0x10410400
#define PERF_COUNTER_BULK_COUNT 0x10410500
#define PERF_RAW_FRACTION 0x20020400
#define PERF_LARGE_RAW_FRACTION 0x20020500
#define PERF_COUNTER_TIMER 0x20410500
#define PERF_PRECISION_SYSTEM_TIMER 0x20470500
#define PERF_100NSEC_TIMER 0x20510500
#define PERF_PRECISION_100NS_TIMER 0x20570500
#define PERF_OBJ_TIME_TIMER 0x20610500
#define PERF_PRECISION_OBJECT_TIMER 0x20670500
#define PERF_SAMPLE_FRACTION 0x20C20400
#define PERF_COUNTER_TIMER_INV 0x21410500
#define PERF_100NSEC_TIMER_INV 0x21510500
#define PERF_COUNTER_MULTI_TIMER 0x22410500
#define PERF_100NSEC_MULTI_TIMER 0x22510500
#define PERF_COUNTER_MULTI_TIMER_INV 0x23410500
#define PERF_100NSEC_MULTI_TIMER_INV 0x23510500
#define PERF_AVERAGE_TIMER 0x30020400
#define PERF_ELAPSED_TIME 0x30240500
#define PERF_COUNTER_NODATA 0x40000200
#define PERF_AVERAGE_BULK 0x40020500
#define PERF_SAMPLE_BASE 0x40030401
#define PERF_AVERAGE_BASE 0x40030402
#define PERF_RAW_BASE 0x40030403
#define PERF_LARGE_RAW_BASE 0x40030500
#define PERF_PRECISION_TIMESTAMP 0x40030500
#define PERF_COUNTER_MULTI_BASE 0x42030500
#define PERF_COUNTER_HISTOGRAM_TYPE 0x80000000

/* The three functions of a provider library; their names are in its registration. */
typedef DWORD(APIENTRY PM_OPEN_PROC)(LPWSTR);
typedef DWORD(APIENTRY PM_COLLECT_PROC)(LPWSTR, LPVOID *, LPDWORD, LPDWORD);
typedef DWORD(APIENTRY PM_CLOSE_PROC)(void);


#define TALLYMON_AT(type, field, offset) \
    TALLYMON_STATIC_ASSERT(offsetof(type, field) == (offset), #type "." #field " is not where NT has it")

TALLYMON_STATIC_ASSERT(sizeof(PERF_DATA_BLOCK) == 88, "PERF_DATA_BLOCK has 88 bytes");
TALLYMON_AT(PERF_DATA_BLOCK, Signature, 0);
TALLYMON_AT(PERF_DATA_BLOCK, LittleEndian, 8);
TALLYMON_AT(PERF_DATA_BLOCK, Version, 12);
TALLYMON_AT(PERF_DATA_BLOCK, Revision, 16);
TALLYMON_AT(PERF_DATA_BLOCK, TotalByteLength, 20);
TALLYMON_AT(PERF_DATA_BLOCK, HeaderLength, 24);
TALLYMON_AT(PERF_DATA_BLOCK, NumObjectTypes, 28);
TALLYMON_AT(PERF_DATA_BLOCK, DefaultObject, 32);
TALLYMON_AT(PERF_DATA_BLOCK, SystemTime, 36);
TALLYMON_AT(PERF_DATA_BLOCK, PerfTime, 56);
TALLYMON_AT(PERF_DATA_BLOCK, PerfFreq, 64);
TALLYMON_AT(PERF_DATA_BLOCK, PerfTime100nSec, 72);
TALLYMON_AT(PERF_DATA_BLOCK, SystemNameLength, 80);
TALLYMON_AT(PERF_DATA_BLOCK, SystemNameOffset, 84);

TALLYMON_STATIC_ASSERT(sizeof(PERF_OBJECT_TYPE) == 64, "PERF_OBJECT_TYPE has 64 bytes");
TALLYMON_AT(PERF_OBJECT_TYPE, TotalByteLength, 0);
TALLYMON_AT(PERF_OBJECT_TYPE, DefinitionLength, 4);
TALLYMON_AT(PERF_OBJECT_TYPE, HeaderLength, 8);
TALLYMON_AT(PERF_OBJECT_TYPE, ObjectNameTitleIndex, 12);
TALLYMON_AT(PERF_OBJECT_TYPE, ObjectNameTitle, 16);
TALLYMON_AT(PERF_OBJECT_TYPE, ObjectHelpTitleIndex, 20);
TALLYMON_AT(PERF_OBJECT_TYPE, ObjectHelpTitle, 24);
TALLYMON_AT(PERF_OBJECT_TYPE, DetailLevel, 28);
TALLYMON_AT(PERF_OBJECT_TYPE, NumCounters, 32);
TALLYMON_AT(PERF_OBJECT_TYPE, DefaultCounter, 36);
TALLYMON_AT(PERF_OBJECT_TYPE, NumInstances, 40);
TALLYMON_AT(PERF_OBJECT_TYPE, CodePage, 44);
TALLYMON_AT(PERF_OBJECT_TYPE, PerfTime, 48);
TALLYMON_AT(PERF_OBJECT_TYPE, PerfFreq, 56);

TALLYMON_STATIC_ASSERT(sizeof(PERF_COUNTER_DEFINITION) == 40, "PERF_COUNTER_DEFINITION has 40 bytes");
TALLYMON_AT(PERF_COUNTER_DEFINITION, ByteLength, 0);
TALLYMON_AT(PERF_COUNTER_DEFINITION, CounterNameTitleIndex, 4);
TALLYMON_AT(PERF_COUNTER_DEFINITION, CounterNameTitle, 8);
TALLYMON_AT(PERF_COUNTER_DEFINITION, CounterHelpTitleIndex, 12);
TALLYMON_AT(PERF_COUNTER_DEFINITION, CounterHelpTitle, 16);
TALLYMON_AT(PERF_COUNTER_DEFINITION, DefaultScale, 20);
TALLYMON_AT(PERF_COUNTER_DEFINITION, DetailLevel, 24);
TALLYMON_AT(PERF_COUNTER_DEFINITION, CounterType, 28);
TALLYMON_AT(PERF_COUNTER_DEFINITION, CounterSize, 32);
TALLYMON_AT(PERF_COUNTER_DEFINITION, CounterOffset, 36);

TALLYMON_STATIC_ASSERT(sizeof(PERF_INSTANCE_DEFINITION) == 24, "PERF_INSTANCE_DEFINITION has 24 bytes");
TALLYMON_AT(PERF_INSTANCE_DEFINITION, ByteLength, 0);
TALLYMON_AT(PERF_INSTANCE_DEFINITION, ParentObjectTitleIndex, 4);
TALLYMON_AT(PERF_INSTANCE_DEFINITION, ParentObjectInstance, 8);
TALLYMON_AT(PERF_INSTANCE_DEFINITION, UniqueID, 12);
TALLYMON_AT(PERF_INSTANCE_DEFINITION, NameOffset, 16);
TALLYMON_AT(PERF_INSTANCE_DEFINITION, NameLength, 20);

TALLYMON_STATIC_ASSERT(sizeof(PERF_COUNTER_BLOCK) == 4, "PERF_COUNTER_BLOCK has 4 bytes");

#ifdef __cplusplus
}
#endif

#endif
