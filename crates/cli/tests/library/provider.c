/* A provider library for tests: it writes down which of its functions are called with what, answers with one object,
 * and can be told to do what a library must not do.
 *
 * LOG    path of the file that it writes down its calls in
 * SICK_FILE  with the fault SICK: it crashes as long as this file is there; with SLEEP: it sleeps until it is there
 * FAULT  a word from the list below, or GOOD
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <unistd.h>

#include <windows.h>

enum fault {
    GOOD,
    SIZES_LEFT,     /* Collect does not set *bytes and *objects, as in the article */
    NOTHING,        /* Collect sets both to 0 */
    OPEN_ERROR,     /* Open returns ERROR_ACCESS_DENIED */
    COLLECT_ERROR,  /* Collect returns ERROR_ACCESS_DENIED */
    COLLECT_ONCE,   /* Collect returns ERROR_ACCESS_DENIED at its first call only */
    CRASH,          /* Collect reads at address 0 */
    CRASH_OPEN,     /* Open does */
    CRASH_CLOSE,    /* Close does */
    HANG_CLOSE,     /* Close sleeps for an hour */
    ABORT,
    LOOP,           /* Collect loops for ever */
    SLEEP,          /* Collect sleeps from its second call on, until the file SERVICE.sick is beside LOG */
    LONG_SLEEP,     /* Collect sleeps for an hour from its second call on */
    OPEN_SLEEPS,    /* Open sleeps for an hour */
    OVERRUN,        /* Collect writes 64 bytes behind its buffer */
    FAR_OVERRUN,    /* Collect writes 1 MB behind its buffer */
    UNDERRUN,       /* Collect writes in front of its buffer */
    LEAK,           /* Collect allocates 64 MB, and touches them, at each call */
    FORK,           /* Collect forks a process that sleeps */
    FORK_BUSY,      /* Collect forks one that answers in its place */
    CLOSE_ALL,      /* Collect closes every descriptor */
    EXIT,           /* Collect calls exit(3) */
    NOISE,          /* Collect reads and writes the standard descriptors */
    RUBBISH,        /* Collect fills its buffer with random bytes and says that they are objects */
    SOCKET,         /* Collect writes to every descriptor that it finds */
    CUT,            /* Collect cuts every file that it finds */
    GROWS,          /* Collect wants 300 KB, and gives them */
    NEVER_ENOUGH,   /* Collect always wants more */
    UNALIGNED,      /* Collect answers with 4 bytes more than a multiple of 8 */
    NO_ATTACH,      /* DllMain returns FALSE */
    MESSAGES,       /* its functions show message boxes, as in the article */
    SICK,           /* Open crashes as long as the file SERVICE.sick is beside LOG */
    THREADS,        /* DllMain and Collect start threads, which end in different ways */
    PARENT          /* its instance names object 2, instance 0, as its parent */
};

static void note(const char *format, ...)
{
    char line[512];
    va_list arguments;
    int file = open(LOG, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (file >= 0) {
        if (write(file, line, strlen(line)) < 0)
            abort();
        close(file);
    }
}

static void *returns(void *name)
{
    note("%s\n", (const char *)name);
    return name;
}

static void *exits(void *name)
{
    note("%s\n", (const char *)name);
    pthread_exit(name);
}

static volatile int is_waiting;

static void *waits(void *name)
{
    note("%s\n", (const char *)name);
    is_waiting = 1;
    while (is_waiting)
        pause();
    return name;
}

static int returns_number(void *name)
{
    note("%s\n", (const char *)name);
    return 7;
}

static pthread_t early;
static volatile int main_runs;

/* Starts a thread in DllMain, and gives it time to come too early. */
static void start_early(void)
{
    static char name[] = "started in DllMain";
    if (pthread_create(&early, NULL, returns, name) != 0)
        abort();
    usleep(50000);
}

/* One thread after the other, each to its end. */
static void start_threads(void)
{
    static char first[] = "returns", second[] = "calls pthread_exit", third[] = "is cancelled", fourth[] = "is of C11";
    void *result;
    pthread_t thread;
    thrd_t other;
    int number;
    if (pthread_join(early, &result) != 0 || pthread_create(&thread, NULL, returns, first) != 0)
        abort();
    if (pthread_join(thread, &result) != 0 || result != first || pthread_create(&thread, NULL, exits, second) != 0)
        abort();
    if (pthread_join(thread, &result) != 0 || result != second || pthread_create(&thread, NULL, waits, third) != 0)
        abort();
    while (!is_waiting)
        sched_yield();
    if (pthread_cancel(thread) != 0 || pthread_join(thread, &result) != 0 || result != PTHREAD_CANCELED)
        abort();
    if (thrd_create(&other, returns_number, fourth) != thrd_success || thrd_join(other, &number) != thrd_success)
        abort();
    note("ended with %d\n", number);
}

BOOL WINAPI DllMain(HINSTANCE instance, DWORD reason, LPVOID reserved)
{
    static const char *const names[] = {"detach", "attach", "thread attach", "thread detach"};
    (void)instance;
    if (main_runs++ != 0)
        note("DllMain runs twice at once\n");
    note("%s%s\n", reason < 4 ? names[reason] : "unknown reason", reserved ? " at the end of the process" : "");
    if (FAULT == MESSAGES)
        MessageBoxA(NULL, reason < 4 ? names[reason] : "unknown", "DllMain from counter.dll", MB_OK);
    if (FAULT == THREADS && reason == DLL_PROCESS_ATTACH)
        start_early();
    main_runs--;
    return FAULT != NO_ATTACH;
}

static DWORD calls;
/* The compiler must not know that it is 0. */
static int *volatile nowhere;
static void *volatile leaked;

#pragma pack(push, 4)
static struct {
    PERF_OBJECT_TYPE type;
    PERF_COUNTER_DEFINITION counter;
    PERF_INSTANCE_DEFINITION instance;
    WCHAR name[8];
    DWORD block_length;
    DWORD value;
    DWORD padding[2];
} answer;
#pragma pack(pop)

/* What a reader says that loads it into its own process. */
static DWORD told[2];

void OpenIndexes(const WCHAR *service, DWORD counter, DWORD help)
{
    note("OpenIndexes %c...\n", (char)service[0]);
    told[0] = counter;
    told[1] = help;
}

static DWORD number(const char *name, DWORD here)
{
    const char *text = getenv(name);
    return here ? here : text ? (DWORD)strtoul(text, NULL, 10) : 0;
}

DWORD CALLBACK Open(LPWSTR context)
{
    char text[128] = "NULL";
    if (context)
        for (size_t i = 0; i < sizeof text - 1 && (text[i] = (char)context[i]) != 0; i++)
            ;
    note("Open %s\n", text);
    if (FAULT == MESSAGES) {
        MessageBoxA(NULL, "Open", "Open from counter.dll", MB_OK);
        OutputDebugStringA("debug text\n");
    }
    answer.type.TotalByteLength = sizeof answer;
    answer.type.DefinitionLength = sizeof answer.type + sizeof answer.counter;
    answer.type.HeaderLength = sizeof answer.type;
    answer.type.ObjectNameTitleIndex = number("TALLYMON_FIRST_COUNTER", told[0]);
    answer.type.ObjectHelpTitleIndex = number("TALLYMON_FIRST_HELP", told[1]);
    answer.type.DetailLevel = PERF_DETAIL_NOVICE;
    answer.type.NumCounters = 1;
    answer.type.NumInstances = 1;
    answer.counter.ByteLength = sizeof answer.counter;
    answer.counter.CounterNameTitleIndex = answer.type.ObjectNameTitleIndex + 2;
    answer.counter.CounterHelpTitleIndex = answer.type.ObjectHelpTitleIndex + 2;
    answer.counter.DetailLevel = PERF_DETAIL_NOVICE;
    answer.counter.CounterType = PERF_COUNTER_RAWCOUNT;
    answer.counter.CounterSize = sizeof(DWORD);
    answer.counter.CounterOffset = 4;
    answer.instance.ByteLength = sizeof answer.instance + sizeof answer.name;
    answer.instance.UniqueID = PERF_NO_UNIQUE_ID;
    answer.instance.NameOffset = sizeof answer.instance;
    answer.instance.NameLength = 4 * sizeof(WCHAR);
    memcpy(answer.name, u"one", 4 * sizeof(WCHAR));
    answer.block_length = 16;
    if (FAULT == PARENT)
        answer.instance.ParentObjectTitleIndex = 2;
    if (FAULT == OPEN_SLEEPS)
        sleep(3600);
    if (FAULT == CRASH_OPEN || (FAULT == SICK && access(SICK_FILE, F_OK) == 0))
        *nowhere = 1;
    return FAULT == OPEN_ERROR ? ERROR_ACCESS_DENIED : ERROR_SUCCESS;
}

/* What a library must not do, before it answers. */
static void misbehave(char *data, DWORD size)
{
    switch ((enum fault)FAULT) {
    case CRASH:
        *nowhere = 1;
        break;
    case ABORT:
        abort();
    case LOOP:
        for (volatile int i = 0;; i++)
            ;
    case SLEEP:
        while (calls > 1 && access(SICK_FILE, F_OK) != 0)
            usleep(1000);
        break;
    case LONG_SLEEP:
        if (calls > 1)
            sleep(3600);
        break;
    case OVERRUN:
        memset(data + size, 1, 64);
        break;
    case FAR_OVERRUN:
        memset(data + size, 1, 1 << 20);
        break;
    case UNDERRUN:
        memset(data - 64, 1, 64);
        break;
    case LEAK:
        leaked = malloc(64 << 20);
        memset(leaked, 1, 64 << 20);
        break;
    case FORK:
        if (fork() == 0) {
            /* Its number outside of a PID namespace. */
            char number[16] = {0};
            if (readlink("/proc/self", number, sizeof number - 1) < 0)
                abort();
            note("forked %s\n", number);
            sleep(3600);
        }
        break;
    case FORK_BUSY:
        /* Both processes go on, and both answer. */
        if (fork() < 0)
            abort();
        break;
    case CLOSE_ALL:
        for (int i = 0; i < 1024; i++)
            close(i);
        break;
    case EXIT:
        exit(3);
    case NOISE: {
        char bytes[16];
        setvbuf(stdout, NULL, _IOLBF, 0);
        for (int i = 0; i < 1000; i++) {
            printf("noise\n");
            fprintf(stderr, "noise\n");
            if (read(0, bytes, sizeof bytes) != 0)
                abort();
        }
        fflush(stdout);
        break;
    }
    case SOCKET:
        for (int i = 3; i < 256; i++)
            if (write(i, "I am no message", 15) < 0)
                continue;
        break;
    case CUT:
        for (int i = 3; i < 256; i++)
            if (ftruncate(i, 0) < 0)
                continue;
        break;
    default:
        break;
    }
}

DWORD WINAPI Collect(LPWSTR query, LPVOID *data, LPDWORD bytes, LPDWORD objects)
{
    char text[128];
    DWORD size = *bytes;
    for (size_t i = 0; i < sizeof text && (text[i] = (char)query[i]) != 0; i++)
        ;
    text[sizeof text - 1] = 0;
    note("Collect %s\n", text);
    calls++;
    if (FAULT == MESSAGES)
        MessageBoxW(NULL, query, u"Collect from counter.dll", MB_OK);
    misbehave(*data, size);
    if (FAULT == THREADS)
        start_threads();
    if (FAULT == SIZES_LEFT)
        return ERROR_SUCCESS;
    *bytes = 0;
    *objects = 0;
    if (FAULT == COLLECT_ERROR || (FAULT == COLLECT_ONCE && calls == 1))
        return ERROR_ACCESS_DENIED;
    if (FAULT == NOTHING)
        return ERROR_SUCCESS;
    if (FAULT == NEVER_ENOUGH || (FAULT == GROWS && size < 300000))
        return ERROR_MORE_DATA;
    if (FAULT == RUBBISH) {
        for (DWORD i = 0; i < size; i++)
            ((char *)*data)[i] = (char)rand();
        *data = (char *)*data + size;
        *bytes = size;
        *objects = 12345;
        return ERROR_SUCCESS;
    }
    answer.value = 40 + calls;
    answer.type.TotalByteLength = sizeof answer;
    if (FAULT == UNALIGNED)
        answer.type.TotalByteLength += 4;
    if (FAULT == GROWS)
        answer.type.TotalByteLength = 300000 / 8 * 8;
    memcpy(*data, &answer, sizeof answer);
    *data = (char *)*data + answer.type.TotalByteLength;
    *bytes = answer.type.TotalByteLength;
    *objects = 1;
    return ERROR_SUCCESS;
}

DWORD WINAPI Close(void)
{
    note("Close\n");
    if (FAULT == MESSAGES)
        MessageBoxA(NULL, "Close", "Close from counter.dll", MB_OK);
    if (FAULT == HANG_CLOSE)
        sleep(3600);
    if (FAULT == CRASH_CLOSE)
        *nowhere = 1;
    return ERROR_SUCCESS;
}
