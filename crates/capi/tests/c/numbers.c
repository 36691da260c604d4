/* Adds to numbers without a call, in C and in C++. With an argument: how long many additions take, by a call and without. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tallymon.h>

static int wrong;

#define IS(expected, found) check(__LINE__, (ULONGLONG)(expected), (ULONGLONG)(found))

static void check(int line, ULONGLONG expected, ULONGLONG found)
{
    if (expected != found) {
        printf("line %d: %llu instead of %llu\n", line, (unsigned long long)found, (unsigned long long)expected);
        wrong++;
    }
}

static ULONGLONG value_of(TALLYMON_COUNTER *counter)
{
    ULONGLONG value = 0;
    IS(ERROR_SUCCESS, TallymonGet(counter, &value));
    return value;
}

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static void measure(TALLYMON_COUNTER *counter, long rounds)
{
    TALLYMON_NUMBER number = TallymonNumber(counter);
    double start, called, inlined;
    long i;
    start = now();
    for (i = 0; i < rounds; i++)
        TallymonAdd(counter, i & 1);
    called = (now() - start) / (double)rounds;
    start = now();
    for (i = 0; i < rounds; i++)
        TallymonNumberAdd(&number, i & 1);
    inlined = (now() - start) / (double)rounds;
    printf("%.2f ns by a call, %.2f ns without\n", called, inlined);
}

int main(int count, char **arguments)
{
    TALLYMON_NEW_COUNTER counters[3];
    TALLYMON_NEW_SET set;
    TALLYMON_PUBLISHER *publisher = NULL;
    TALLYMON_INSTANCE *instance = NULL;
    TALLYMON_COUNTER *own = NULL, *shared = NULL, *text = NULL;
    TALLYMON_NUMBER number, other;
    ULONGLONG *word = NULL;
    int i;

    memset(counters, 0, sizeof(counters));
    memset(&set, 0, sizeof(set));
    counters[0].Name = "Own";
    counters[0].CounterType = PERF_COUNTER_LARGE_RAWCOUNT;
    counters[1].Name = "Shared";
    counters[1].CounterType = PERF_COUNTER_LARGE_RAWCOUNT;
    counters[1].Flags = TALLYMON_COUNTER_SHARED;
    counters[2].Name = "Text";
    counters[2].CounterType = PERF_COUNTER_TEXT;
    counters[2].MaximumLength = 8;
    set.Name = "Numbers";
    set.CounterCount = 3;
    set.Counters = counters;
    IS(ERROR_SUCCESS, TallymonPublisherStart("numbers", &set, 1, &publisher));
    IS(ERROR_SUCCESS, TallymonInstanceCreate(publisher, "Numbers", NULL, -1, NULL, &instance));
    IS(ERROR_SUCCESS, TallymonCounterOpen(instance, "Own", &own));
    IS(ERROR_SUCCESS, TallymonCounterOpen(instance, "Shared", &shared));
    IS(ERROR_SUCCESS, TallymonCounterOpen(instance, "Text", &text));
    if (count > 1) {
        measure(own, atol(arguments[1]));
        return 0;
    }

    number = TallymonNumber(own);
    IS(1, number.Word != NULL);
    for (i = 0; i < 1000; i++)
        IS(ERROR_SUCCESS, TallymonNumberAdd(&number, 3));
    IS(3000, value_of(own));
    IS(ERROR_SUCCESS, TallymonNumberAdd(&number, -5));
    IS(ERROR_SUCCESS, TallymonAdd(own, 5));
    IS(3000, value_of(own));
    IS(ERROR_SUCCESS, TallymonNumberSet(&number, 77));
    IS(77, value_of(own));
    IS(ERROR_SUCCESS, TallymonNumberSet(&number, 0));
    IS(ERROR_SUCCESS, TallymonNumberAdd(&number, -1));
    IS((ULONGLONG)-1, value_of(own));

    /* What only a call can write is written by one, with its errors. */
    other = TallymonNumber(shared);
    IS(1, other.Word == NULL);
    IS(ERROR_SUCCESS, TallymonNumberAdd(&other, 9));
    IS(9, value_of(shared));
    IS(ERROR_INVALID_PARAMETER, TallymonNumberSet(&other, 1));
    other = TallymonNumber(text);
    IS(ERROR_INVALID_PARAMETER, TallymonNumberAdd(&other, 1));
    other = TallymonNumber(NULL);
    IS(ERROR_INVALID_HANDLE, TallymonNumberAdd(&other, 1));

    /* A header of another version than the library knows is told to call. */
    word = number.Word;
    IS(ERROR_NOT_SUPPORTED, TallymonCounterWord(own, 2, &word));
    IS(1, word == NULL);
    IS(ERROR_NOT_SUPPORTED, TallymonCounterWord(own, 0, &word));
    IS(ERROR_INVALID_PARAMETER, TallymonCounterWord(own, TALLYMON_NUMBER_VERSION, NULL));
    IS(ERROR_INVALID_HANDLE, TallymonCounterWord(NULL, TALLYMON_NUMBER_VERSION, &word));

    /* The word stays while the counter is open. */
    IS(ERROR_SUCCESS, TallymonInstanceClose(instance));
    IS(ERROR_SUCCESS, TallymonPublisherClose(publisher));
    IS(ERROR_SUCCESS, TallymonNumberSet(&number, 5));
    IS(5, value_of(own));
    IS(ERROR_SUCCESS, TallymonCounterClose(own));
    IS(ERROR_SUCCESS, TallymonCounterClose(shared));
    IS(ERROR_SUCCESS, TallymonCounterClose(text));
    printf("%d wrong\n", wrong);
    return wrong != 0;
}
