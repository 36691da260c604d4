/* Publishes a set of every kind of counter, says when it is there, and takes it away when its input ends. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <tallymon.h>

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))
#define THREADS 4
#define ADDITIONS 100000

static int wrong;

#define IS(expected, call) check(__LINE__, #call, expected, call)

static void check(int line, const char *call, DWORD expected, DWORD found)
{
    if (expected != found) {
        char text[200] = "";
        DWORD size = sizeof(text);
        TallymonErrorText(text, &size);
        printf("line %d: %s is %u instead of %u: %s\n", line, call, found, expected, text);
        wrong++;
    }
}

static const TALLYMON_TEXT russian_weight = { 0x19, "Вес", NULL, "кг" };
static const TALLYMON_NEW_COUNTER counters[] = {
    { .Name = "Weight", .Unit = "kg", .CounterType = PERF_COUNTER_LARGE_RAWCOUNT, .TextCount = 1, .Texts = &russian_weight },
    { .Name = "Meals", .CounterType = PERF_COUNTER_LARGE_RAWCOUNT, .Flags = TALLYMON_COUNTER_SHARED },
    { .Name = "Steps", .CounterType = PERF_COUNTER_LARGE_RAWCOUNT, .Flags = TALLYMON_COUNTER_SPREAD },
    { .Name = "Mood", .CounterType = PERF_COUNTER_TEXT, .MaximumLength = 16 },
    { .Name = "Avg. Meal", .CounterType = PERF_AVERAGE_BULK },
    { .Name = "% Awake", .CounterType = PERF_LARGE_RAW_FRACTION, .Flags = TALLYMON_COUNTER_FIRST_SHOWN },
    { .Name = "Walk", .CounterType = PERF_AVERAGE_BULK, .Flags = TALLYMON_COUNTER_HISTOGRAM, .BucketBits = 4,
      .BucketMost = 100000, .Percentiles = { 50000 } },
    { .Name = "X", .CounterType = PERF_COUNTER_LARGE_RAWCOUNT, .Group = 1 },
    { .Name = "Y", .CounterType = PERF_COUNTER_LARGE_RAWCOUNT, .Group = 1 },
    { .Name = "Age", .CounterType = PERF_ELAPSED_TIME },
};
static const TALLYMON_NEW_COUNTER summary[] = { { .Name = "Count", .CounterType = PERF_COUNTER_RAWCOUNT } };
static const TALLYMON_NEW_SET sets[] = {
    { .Name = "Behemoth", .Help = "The behemoths that are alive.", .Flags = TALLYMON_SET_INSTANCES,
      .CounterCount = COUNT(counters), .Counters = counters },
    { .Name = "Behemoths Summary", .CounterCount = COUNT(summary), .Counters = summary },
};

static void *eat(void *meals)
{
    for (int i = 0; i < ADDITIONS; i++)
        IS(ERROR_SUCCESS, TallymonAdd(meals, 1));
    return NULL;
}

static void add_from_threads(TALLYMON_COUNTER *counter)
{
    pthread_t threads[THREADS];
    ULONGLONG value = 0;
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, eat, counter);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    IS(ERROR_SUCCESS, TallymonGet(counter, &value));
    if (value != (ULONGLONG)THREADS * ADDITIONS) {
        printf("%llu additions are there\n", value);
        wrong++;
    }
}

static void refusals(TALLYMON_PUBLISHER *publisher, TALLYMON_INSTANCE *ada, TALLYMON_COUNTER *weight, TALLYMON_COUNTER *mood)
{
    TALLYMON_PUBLISHER *none = NULL;
    TALLYMON_INSTANCE *instance = NULL;
    TALLYMON_COUNTER *counter = NULL;
    TALLYMON_NEW_SET empty = { .Name = "Empty" };
    DWORD size = 0;
    IS(ERROR_INVALID_PARAMETER, TallymonPublisherStart("wrong", &empty, 1, &none));
    IS(ERROR_INVALID_PARAMETER, TallymonPublisherStart(NULL, sets, COUNT(sets), &none));
    IS(ERROR_INVALID_PARAMETER, TallymonPublisherStart("wrong", sets, COUNT(sets), NULL));
    IS(ERROR_NOT_FOUND, TallymonInstanceCreate(publisher, "Dragon", "Ada", -1, NULL, &instance));
    IS(ERROR_NOT_FOUND, TallymonInstanceCreate(publisher, "Behemoth", NULL, -1, NULL, &instance));
    IS(ERROR_INVALID_PARAMETER, TallymonInstanceCreate(publisher, "Behemoth", "", -1, NULL, &instance));
    IS(ERROR_INVALID_HANDLE, TallymonInstanceCreate(NULL, "Behemoth", "Eve", -1, NULL, &instance));
    IS(ERROR_NOT_FOUND, TallymonCounterOpen(ada, "Height", &counter));
    IS(ERROR_BUSY, TallymonCounterOpen(ada, "Weight", &counter));
    IS(ERROR_MORE_DATA, TallymonErrorText(NULL, &size));
    if (size < sizeof("\"Weight\" has a writer") || none || instance || counter) {
        printf("a failure wrote a result, or says nothing: %u\n", size);
        wrong++;
    }
    IS(ERROR_INVALID_PARAMETER, TallymonErrorText(NULL, NULL));
    IS(ERROR_INVALID_PARAMETER, TallymonAdd(mood, 1));
    IS(ERROR_INVALID_PARAMETER, TallymonSetText(weight, "heavy"));
    IS(ERROR_INVALID_PARAMETER, TallymonRecord(weight, 1));
    IS(ERROR_INVALID_PARAMETER, TallymonSetAll(weight, NULL, 0));
    IS(ERROR_INVALID_HANDLE, TallymonAdd(NULL, 1));
    IS(ERROR_INVALID_HANDLE, TallymonCounterClose(NULL));
    IS(ERROR_INVALID_HANDLE, TallymonInstanceClose(NULL));
    IS(ERROR_INVALID_HANDLE, TallymonPublisherClose(NULL));
    IS(ERROR_INVALID_HANDLE, TallymonPublisherKeepLastValues(NULL));
}

int main(void)
{
    TALLYMON_PUBLISHER *publisher = NULL;
    TALLYMON_INSTANCE *ada = NULL, *bob = NULL, *all = NULL;
    TALLYMON_COUNTER *of[COUNT(counters)] = { 0 }, *count = NULL;
    const ULONGLONG awake[] = { 7, 28 }, place[] = { 17, 4 }, step[] = { 1, (ULONGLONG)-1 };

    IS(ERROR_SUCCESS, TallymonPublisherStart("behemoths", sets, COUNT(sets), &publisher));
    IS(ERROR_SUCCESS, TallymonInstanceCreate(publisher, "Behemoth", "Ada", 42, NULL, &ada));
    IS(ERROR_SUCCESS, TallymonInstanceCreate(publisher, "Behemoth", "Bob", -1, ada, &bob));
    IS(ERROR_SUCCESS, TallymonInstanceCreate(publisher, "Behemoths Summary", NULL, -1, NULL, &all));
    for (size_t i = 0; i < COUNT(counters); i++) {
        /* X stands for the group that Y is in too. */
        IS(strcmp(counters[i].Name, "Y") ? ERROR_SUCCESS : ERROR_BUSY, TallymonCounterOpen(ada, counters[i].Name, &of[i]));
    }
    IS(ERROR_SUCCESS, TallymonSet(of[0], 9000));
    IS(ERROR_SUCCESS, TallymonAdd(of[0], -500));
    add_from_threads(of[1]);
    add_from_threads(of[2]);
    IS(ERROR_SUCCESS, TallymonSetText(of[3], "грустный и голодный"));
    for (int i = 1; i <= 100; i++) {
        IS(ERROR_SUCCESS, TallymonRecord(of[4], i));
        IS(ERROR_SUCCESS, TallymonRecord(of[6], i));
    }
    IS(ERROR_SUCCESS, TallymonSetAll(of[5], awake, 2));
    IS(ERROR_SUCCESS, TallymonSetAll(of[7], place, 2));
    IS(ERROR_SUCCESS, TallymonAddAll(of[7], step, 2));
    IS(ERROR_SUCCESS, TallymonStartTime(of[9]));
    IS(ERROR_SUCCESS, TallymonCounterOpen(all, "count", &count));
    IS(ERROR_SUCCESS, TallymonAdd(count, 2));
    refusals(publisher, ada, of[0], of[3]);
    printf("%d wrong\n", wrong);
    fflush(stdout);

    while (getchar() != EOF) {
    }
    /* The order does not matter; what is left open keeps the publication. */
    IS(ERROR_SUCCESS, TallymonPublisherClose(publisher));
    IS(ERROR_SUCCESS, TallymonInstanceClose(bob));
    IS(ERROR_SUCCESS, TallymonInstanceClose(ada));
    IS(ERROR_SUCCESS, TallymonInstanceClose(all));
    IS(ERROR_SUCCESS, TallymonAdd(of[0], 1));
    for (size_t i = 0; i < COUNT(counters); i++)
        if (of[i])
            IS(ERROR_SUCCESS, TallymonCounterClose(of[i]));
    IS(ERROR_SUCCESS, TallymonCounterClose(count));
    return wrong != 0;
}
