/* What Tallymon has and Windows has not: among it, counters that a program publishes itself.
 *
 * Everything else of the C interface has the names of Windows: counters by path are in pdh.h, data blocks and name tables
 * come through RegQueryValueEx of winreg.h. Who opens a handle closes it: PdhCloseQuery for a query and all its counters,
 * PdhCloseLog for a data source, RegCloseKey for a key, CloseHandle for an event. Handles are numbers that are checked;
 * one that was closed is refused, whatever was opened since.
 */
#ifndef TALLYMON_H
#define TALLYMON_H

#ifdef _WIN32
#include <windows.h> /* what winperf.h of Windows needs before it */
#endif
#include "windef.h"
#include "winerror.h"
#include "winperf.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a RegQueryValueEx whose buffer is too small for a data block says how many bytes are needed. NT does not: it
 * leaves the size as it was, and so does Tallymon until this is called with TRUE. Returns what was set before. A new
 * sample may be larger than the last one, so a program asks again in a loop all the same. */
BOOL WINAPI TallymonSetNeededSize(BOOL wanted);

/* Publishing.
 *
 * A program declares its counter sets in a table and starts a publisher; from then on every reader of performance counters
 * on the machine sees them, without registration, rights or a service. They are gone when the program ends in any way.
 *
 *     static const TALLYMON_NEW_COUNTER counters[] = {
 *         { .Name = "Meals/sec", .CounterType = PERF_COUNTER_BULK_COUNT },
 *         { .Name = "Mood", .CounterType = PERF_COUNTER_TEXT, .MaximumLength = 40 },
 *     };
 *     static const TALLYMON_NEW_SET set = {
 *         .Name = "Behemoth", .Flags = TALLYMON_SET_INSTANCES, .CounterCount = 2, .Counters = counters };
 *     TALLYMON_PUBLISHER *publisher;
 *     TALLYMON_INSTANCE *ada;
 *     TALLYMON_COUNTER *meals;
 *     TallymonPublisherStart("behemoths", &set, 1, &publisher);
 *     TallymonInstanceCreate(publisher, "Behemoth", "Ada", -1, NULL, &ada);
 *     TallymonCounterOpen(ada, "Meals/sec", &meals);
 *     TallymonAdd(meals, 1);
 *
 * Ownership: what Start, Create and Open give belongs to the program, which gives each back once, in any order, with the
 * Close of its kind. An instance is gone for readers when it is closed; a counter of it that is still open counts for
 * nobody. The publication ends when the publisher and all that was made from it are closed. These are addresses, so that
 * adding is fast: what was closed must not be used. NULL is refused.
 *
 * Threads: everything may be used by any thread, and by several at a time, except TallymonAdd and TallymonSet of a counter
 * without TALLYMON_COUNTER_SHARED, whose additions two threads would take from each other. A child of fork must not write.
 *
 * Texts are UTF-8; nothing that is passed needs to live longer than the call. Every function returns ERROR_SUCCESS or an
 * error of winerror.h: ERROR_NOT_FOUND (no set or counter of that name), ERROR_BUSY (a counter has one writer at a time),
 * ERROR_INVALID_PARAMETER (declared wrongly, or the counter is of another kind), ERROR_INVALID_HANDLE (NULL),
 * ERROR_NOT_ENOUGH_MEMORY (more than 64 MiB), ERROR_ACCESS_DENIED and ERROR_CANTWRITE (the file). */

/* Flags of a set. */
#define TALLYMON_SET_INSTANCES 0x1 /* it has instances, which come and go */

/* Flags of a counter. */
#define TALLYMON_COUNTER_SHARED 0x1 /* any number of threads add to it; it cannot be set */
#define TALLYMON_COUNTER_HISTOGRAM 0x2 /* PERF_AVERAGE_BULK or PERF_AVERAGE_TIMER, with count and percentiles beside it */
#define TALLYMON_COUNTER_FIRST_SHOWN 0x4 /* what a viewer shows first of the set */
#define TALLYMON_COUNTER_SPREAD 0x8 /* shared, and each processor adds in a place of its own: faster, takes more memory */

/* Words in another language than English, which is part of the set or counter itself. NULL where there are none. */
typedef struct _TALLYMON_TEXT {
    DWORD Language; /* LANGID */
    LPCSTR Name;
    LPCSTR Help;
    LPCSTR Unit;
} TALLYMON_TEXT;

/* A counter. Everything but the name and the type may be zero. */
typedef struct _TALLYMON_NEW_COUNTER {
    LPCSTR Name; /* English */
    LPCSTR Help;
    LPCSTR Unit;
    DWORD CounterType; /* of winperf.h; 64 bits are stored whatever the size of the type */
    DWORD BaseType; /* of a type that needs a base, another one than the usual */
    LONG DefaultScale; /* power of ten for charts, -7 to 7 */
    DWORD DetailLevel; /* 0 = PERF_DETAIL_NOVICE */
    DWORD Flags;
    DWORD Group; /* counters with the same number, not 0, that follow each other are written and read at once */
    DWORD MaximumLength; /* bytes of a PERF_COUNTER_TEXT, 1 to 4000 */
    DWORD BucketBits; /* of a histogram: 2 to this power buckets for each power of two, 0 to 6 */
    ULONGLONG BucketMost; /* of a histogram: larger values count as this; 0 = 2^40, and 4 bits */
    DWORD Percentiles[8]; /* of a histogram, in thousandths of a percent; all 0 = 50, 90, 99 and 99.9 % */
    DWORD TextCount;
    const TALLYMON_TEXT *Texts;
} TALLYMON_NEW_COUNTER;

/* A set of counters: what readers see as an object. */
typedef struct _TALLYMON_NEW_SET {
    LPCSTR Name; /* English */
    LPCSTR Help;
    DWORD Flags;
    DWORD DetailLevel; /* 0 = PERF_DETAIL_NOVICE */
    DWORD ExpectedInstances; /* how many there will be about, for speed; 0 = a few */
    DWORD CounterCount;
    const TALLYMON_NEW_COUNTER *Counters;
    DWORD TextCount;
    const TALLYMON_TEXT *Texts;
} TALLYMON_NEW_SET;

#if UINTPTR_MAX > 0xffffffffu
TALLYMON_STATIC_ASSERT(sizeof(TALLYMON_TEXT) == 32, "TALLYMON_TEXT is not as the library has it");
TALLYMON_STATIC_ASSERT(sizeof(TALLYMON_NEW_COUNTER) == 112, "TALLYMON_NEW_COUNTER is not as the library has it");
TALLYMON_STATIC_ASSERT(sizeof(TALLYMON_NEW_SET) == 56, "TALLYMON_NEW_SET is not as the library has it");
#endif

typedef struct _TALLYMON_PUBLISHER TALLYMON_PUBLISHER;
typedef struct _TALLYMON_INSTANCE TALLYMON_INSTANCE;
typedef struct _TALLYMON_COUNTER TALLYMON_COUNTER;

/* Why the last function of this part failed in this thread, in words. The size counts bytes with the zero; ERROR_MORE_DATA
 * says how many are needed. */
DWORD WINAPI TallymonErrorText(LPSTR text, LPDWORD size);

/* Publishes sets under the name of the program. */
DWORD WINAPI TallymonPublisherStart(
    LPCSTR name, const TALLYMON_NEW_SET *sets, DWORD count, TALLYMON_PUBLISHER **publisher);
/* The last values stay visible, marked as stale, when the program has ended without closing, until one of the same name
 * publishes. */
DWORD WINAPI TallymonPublisherKeepLastValues(TALLYMON_PUBLISHER *publisher);
DWORD WINAPI TallymonPublisherClose(TALLYMON_PUBLISHER *publisher);

/* A new instance. The name is NULL for the one set of values of a set without instances; the id is -1 and the parent NULL
 * for none. */
DWORD WINAPI TallymonInstanceCreate(TALLYMON_PUBLISHER *publisher, LPCSTR set, LPCSTR name, LONG id,
    TALLYMON_INSTANCE *parent, TALLYMON_INSTANCE **instance);
DWORD WINAPI TallymonInstanceClose(TALLYMON_INSTANCE *instance);

/* The writer of a counter by its English name. One of a group stands for the whole group. */
DWORD WINAPI TallymonCounterOpen(TALLYMON_INSTANCE *instance, LPCSTR name, TALLYMON_COUNTER **counter);
DWORD WINAPI TallymonCounterClose(TALLYMON_COUNTER *counter);

/* A number that is in no group. Only one that is not shared can be set. */
DWORD WINAPI TallymonAdd(TALLYMON_COUNTER *counter, LONGLONG n);
DWORD WINAPI TallymonSet(TALLYMON_COUNTER *counter, ULONGLONG value);
DWORD WINAPI TallymonGet(TALLYMON_COUNTER *counter, ULONGLONG *value);

/* Adding and setting without a call, for what a program counts very often: ten times as fast.
 *
 *     TALLYMON_NUMBER number = TallymonNumber(meals);
 *     TallymonNumberAdd(&number, 1);
 *
 * The rules are those of TallymonAdd and TallymonSet: one thread at a time, and not after the counter is
 * closed. Every counter may be used so; one that is shared, in a group or no number is written by a call.
 * The number is a word of 64 bits in the published memory, which the compiler loads and stores whole. The
 * library is told which version of this the header was written for; when it does not know it, the
 * functions call it too. */
#define TALLYMON_NUMBER_VERSION 1

typedef struct _TALLYMON_NUMBER {
    ULONGLONG *Word; /* NULL = by a call */
    TALLYMON_COUNTER *Counter;
} TALLYMON_NUMBER;

/* Where the number of a counter is; NULL where only a call can write it. */
DWORD WINAPI TallymonCounterWord(TALLYMON_COUNTER *counter, DWORD version, ULONGLONG **word);

#if defined(__GNUC__) && UINTPTR_MAX > 0xffffffffu
#define TALLYMON_INLINE static __inline__ __attribute__((always_inline, unused))
#define TALLYMON_LOAD(word) __atomic_load_n(word, __ATOMIC_RELAXED)
#define TALLYMON_STORE(word, value) __atomic_store_n(word, value, __ATOMIC_RELAXED)
#elif defined(_MSC_VER) && defined(_WIN64)
#define TALLYMON_INLINE static __forceinline
#define TALLYMON_LOAD(word) (*(const volatile ULONGLONG *)(word))
#define TALLYMON_STORE(word, value) ((void)(*(volatile ULONGLONG *)(word) = (value)))
#endif

#ifdef TALLYMON_INLINE
TALLYMON_INLINE TALLYMON_NUMBER TallymonNumber(TALLYMON_COUNTER *counter)
{
    TALLYMON_NUMBER number;
    number.Word = NULL;
    number.Counter = counter;
    if (TallymonCounterWord(counter, TALLYMON_NUMBER_VERSION, &number.Word) != ERROR_SUCCESS)
        number.Word = NULL;
    return number;
}

TALLYMON_INLINE DWORD TallymonNumberAdd(const TALLYMON_NUMBER *number, LONGLONG n)
{
    if (!number->Word)
        return TallymonAdd(number->Counter, n);
    TALLYMON_STORE(number->Word, TALLYMON_LOAD(number->Word) + (ULONGLONG)n);
    return ERROR_SUCCESS;
}

TALLYMON_INLINE DWORD TallymonNumberSet(const TALLYMON_NUMBER *number, ULONGLONG value)
{
    if (!number->Word)
        return TallymonSet(number->Counter, value);
    TALLYMON_STORE(number->Word, value);
    return ERROR_SUCCESS;
}
#else
/* Other compilers call. */
#define TallymonNumberAdd(number, n) TallymonAdd((number)->Counter, n)
#define TallymonNumberSet(number, value) TallymonSet((number)->Counter, value)
#ifdef __GNUC__
__attribute__((unused))
#endif
static TALLYMON_NUMBER TallymonNumber(TALLYMON_COUNTER *counter)
{
    TALLYMON_NUMBER number;
    number.Word = NULL;
    number.Counter = counter;
    return number;
}
#endif

/* A PERF_ELAPSED_TIME runs from now on. Before it, and after it was set to 0, it has no value. */
DWORD WINAPI TallymonStartTime(TALLYMON_COUNTER *counter);
/* What is longer than declared is cut between two characters. */
DWORD WINAPI TallymonSetText(TALLYMON_COUNTER *counter, LPCSTR text);
/* One more value of an average or a histogram; times are in units of 100 ns. For a PERF_SAMPLE_FRACTION, 1 is a hit and 0
 * is none. */
DWORD WINAPI TallymonRecord(TALLYMON_COUNTER *counter, ULONGLONG value);
/* Adds to, or sets, the first numbers of a group in the order of their declaration, a base behind its counter. Readers see
 * all of it or nothing. An average or a fraction is a group of two: the value and its base. */
DWORD WINAPI TallymonAddAll(TALLYMON_COUNTER *group, const ULONGLONG *values, DWORD count);
DWORD WINAPI TallymonSetAll(TALLYMON_COUNTER *group, const ULONGLONG *values, DWORD count);

#ifdef __cplusplus
}
#endif

#endif
