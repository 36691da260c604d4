/* A provider library that attacks its reader. Each attack is a number, ATTACK; the library answers correctly if it is
 * still there after the attack, and RESULT says what the attack achieved: a line of text in the file LOG.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <windows.h>

enum attack {
    NONE,
    FORK_KEEPS_PIPE,  /* forks a process that keeps every descriptor, and ends */
    OUTLIVES,         /* forks twice with setsid, and the grandchild sleeps for an hour */
    STOPS_READER,     /* SIGSTOP to the reader */
    KILLS_READER,     /* SIGKILL to the reader */
    KILLS_ALL,        /* SIGKILL to everybody that it may send signals to */
    TRACES_READER,    /* ptrace of the reader */
    WRITES_MEMORY,    /* opens /proc/READER/mem for writing, and process_vm_readv */
    CLOSES_ALL,       /* closes every descriptor */
    EATS_MEMORY,      /* allocates 8 GB, and touches them */
    MANY_OBJECTS,     /* answers with 60 MB of 80,000 valid objects */
    MANY_INSTANCES,   /* answers with 60 MB of 80,000 valid instances of one object */
    CHANGES_ANSWER,   /* a process changes the answer after Collect has returned */
    PRINTS,           /* megabytes on standard output and standard error */
    LIMITS_READER,    /* prlimit of the reader's descriptors to 0 */
    CHANGES_FOLDER,   /* removes the folder of its executable, changes the current one */
    READS_SECRET,     /* reads a variable of the reader's environment */
    WRITES_FILES,     /* makes, moves and removes files in the user's home and in /etc */
    WRITES_BY_LINK,   /* the same through a link in /tmp, and by openat2 */
    CHANGES_MODE,     /* sets the mode of /etc, to the same */
    CHANGES_TIMES,    /* sets the times of /etc, and an attribute, to what cannot be */
    CHANGES_OTHERS,   /* writes to, and sets the times of, a file of another user in /tmp */
    CHANGES_DEAD,     /* processes of its own change files of a file system that never answers */
    FILLS_DISK,       /* writes a byte beyond the longest file that it may have */
    HIDES_SIGNALS,    /* forks more than the supervisor looks at, then a signal to the reader */
    FORKS_MANY,       /* a fork bomb of at most 2000 processes */
    CALLS_OFTEN,      /* calls that are refused, again and again */
    BEHAVES,          /* does to itself and to what it has forked what it must not do to others */
    HANGS_CLOSE,      /* Close sleeps for an hour */
    CRASHES_CLOSE     /* Close crashes */
};

static int *volatile nowhere;

/* The numbers of the reader and its supervisor as the file system /proc shows them: READER is compiled in. */
static pid_t reader(void)
{
    const char *text = getenv("TALLYMON_ATTACKED");
    return text ? (pid_t)atoi(text) : 0;
}

static void note(const char *what, long result)
{
    char line[128];
    int file = open(LOG, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
    int length = snprintf(line, sizeof line, "%s %s\n", what, result < 0 ? "refused" : "done");
    if (file >= 0) {
        if (write(file, line, (size_t)length) < 0)
            abort();
        close(file);
    }
}

#pragma pack(push, 4)
static struct {
    PERF_OBJECT_TYPE type;
    PERF_COUNTER_DEFINITION counter;
    DWORD block_length;
    DWORD value;
} answer;
#pragma pack(pop)

DWORD CALLBACK Open(LPWSTR context)
{
    const char *first = getenv("TALLYMON_FIRST_COUNTER");
    (void)context;
    answer.type.TotalByteLength = sizeof answer;
    answer.type.DefinitionLength = sizeof answer.type + sizeof answer.counter;
    answer.type.HeaderLength = sizeof answer.type;
    answer.type.ObjectNameTitleIndex = first ? (DWORD)strtoul(first, NULL, 10) : 0;
    answer.type.DetailLevel = PERF_DETAIL_NOVICE;
    answer.type.NumCounters = 1;
    answer.type.NumInstances = PERF_NO_INSTANCES;
    answer.counter.ByteLength = sizeof answer.counter;
    answer.counter.CounterNameTitleIndex = answer.type.ObjectNameTitleIndex + 2;
    answer.counter.DetailLevel = PERF_DETAIL_NOVICE;
    answer.counter.CounterType = PERF_COUNTER_RAWCOUNT;
    answer.counter.CounterSize = sizeof(DWORD);
    answer.counter.CounterOffset = 4;
    answer.block_length = 8;
    return ERROR_SUCCESS;
}

/* Forks a process that sends itself a signal and waits. */
static pid_t fork_own(void)
{
    pid_t child = fork();
    if (child == 0) {
        signal(SIGUSR1, SIG_IGN);
        raise(SIGUSR1);
        for (;;)
            pause();
    }
    return child;
}

/* Kills processes of its own before, while or after they send themselves a signal. */
static void kill_own(void)
{
    for (int i = 0; i < 200; i++) {
        pid_t child = fork_own();
        if (child < 0 || kill(child, SIGKILL) < 0 || waitpid(child, NULL, 0) < 0) {
            note("own processes", 0);
            return;
        }
    }
}

static void behave(void)
{
    struct rlimit limit;
    char name[] = "/tmp/tallymon-behaves-XXXXXX", folder[] = "/tmp/tallymon-behaves-XXXXXX";
    char path[64];
    int file = mkstemp(name), null = open("/dev/null", O_WRONLY), own = open("/proc/self/comm", O_WRONLY);
    pid_t child = fork_own();
    if (child < 0 || file < 0 || write(file, "x", 1) < 0 || prlimit(getpid(), RLIMIT_CORE, NULL, &limit) < 0 ||
        prlimit(child, RLIMIT_CORE, NULL, &limit) < 0 || kill(child, SIGKILL) < 0 || waitpid(child, NULL, 0) < 0 ||
        kill(getpid(), 0) < 0)
        note("own processes", 0);
    kill_own();
    if (null < 0 || !mkdtemp(folder) || snprintf(path, sizeof path, "%s/x", folder) < 0 ||
        rename(name, path) < 0 || chmod(path, 0600) < 0 || fchmod(file, 0644) < 0 ||
        futimens(file, NULL) < 0 || symlink("tallymon-absent", name) < 0 || truncate(name, 0) == 0)
        note("own files", 0);
    close(file);
    close(null);
    close(own);
    if (unlink(name) < 0 || unlink(path) < 0 || rmdir(folder) < 0)
        note("own files", 0);
    /* These fail for everybody. */
    mkdir("/etc", 0777);
    unlink("/etc/tallymon-absent");
    open("/etc/tallymon-absent", O_RDWR);
}

static void write_files(void)
{
    char path[64];
    note("write", open("/etc/tallymon-attack", O_WRONLY | O_CREAT, 0666));
    snprintf(path, sizeof path, "%.40s/tallymon-attack", getenv("HOME") ? getenv("HOME") : "/root");
    note("write", open(path, O_WRONLY | O_CREAT, 0666));
    note("mkdir", mkdir(path, 0777));
    note("symlink", symlink("x", path));
    note("remove", unlink("/etc/hostname"));
    note("move", rename("/etc/hostname", path));
    note("cut", truncate("/etc/hostname", 0));
}

static void write_by_link(void)
{
    char link[] = "/tmp/tallymon-link-XXXXXX";
    unsigned long long how[3] = {O_WRONLY | O_CREAT, 0666, 0};
    int file = mkstemp(link);
    close(file);
    unlink(link);
    if (symlink("/etc/tallymon-attack", link) < 0)
        abort();
    note("write", open(link, O_WRONLY | O_CREAT, 0666));
    note("openat2", (int)syscall(SYS_openat2, AT_FDCWD, link, how, sizeof how));
    unlink(link);
}

/* Returns whether one of them has this number. */
static int fork_many(pid_t number)
{
    int has_number = 0;
    for (int i = 0; i < 2000; i++) {
        pid_t child = fork();
        if (child == 0) {
            for (;;)
                sleep(3600);
        }
        if (child < 0)
            break;
        has_number |= child == number;
    }
    return has_number;
}

/* A file of another user, or one of a file system that never answers. */
#ifndef FILE_OF_OTHERS
#define FILE_OF_OTHERS "/tmp/tallymon-absent"
#endif

static void change_times(const char *path)
{
    struct timespec same[2] = {{0, UTIME_OMIT}, {0, UTIME_OMIT}};
    utimensat(AT_FDCWD, path, same, 0);
    removexattr(path, "user.tallymon-absent");
}

/* More processes wait than the supervisor looks for, and it answers this one all the time. */
static void change_dead(void)
{
    for (int i = 0; i < 6; i++) {
        if (fork() == 0) {
            open(FILE_OF_OTHERS, O_WRONLY | O_CREAT, 0666);
            _exit(0);
        }
    }
    for (int i = 0; i < 100; i++) {
        char name[] = "/tmp/tallymon-alive-XXXXXX";
        int file = mkstemp(name);
        if (file < 0 || close(file) < 0 || unlink(name) < 0)
            note("own files", 0);
        usleep(5000);
    }
}

static void attack(char *data)
{
    pid_t victim = reader();
    struct iovec here = {data, 16}, there = {(void *)0x10000, 16};
    struct rlimit none = {0, 0};
    struct stat etc;
    char path[64];
    switch ((enum attack)ATTACK) {
    case FORK_KEEPS_PIPE:
        if (fork() == 0) {
            for (;;)
                sleep(3600);
        }
        _exit(0);
    case OUTLIVES:
        if (fork() == 0) {
            setsid();
            if (fork() == 0) {
                char number[16] = {0};
                prctl(PR_SET_PDEATHSIG, 0);
                if (readlink("/proc/self", number, sizeof number - 1) > 0) {
                    int file = open(LOG, O_WRONLY | O_APPEND | O_CREAT, 0666);
                    if (write(file, "survivor ", 9) < 0 || write(file, number, strlen(number)) < 0)
                        abort();
                    close(file);
                }
                for (;;)
                    sleep(3600);
            }
            _exit(0);
        }
        break;
    case STOPS_READER:
        note("stop", kill(victim, SIGSTOP));
        break;
    case KILLS_READER:
        note("kill", kill(victim, SIGKILL));
        break;
    case KILLS_ALL:
        kill(-1, SIGKILL);
        break;
    case TRACES_READER:
        note("trace", ptrace(PTRACE_ATTACH, victim, NULL, NULL));
        break;
    case WRITES_MEMORY:
        snprintf(path, sizeof path, "/proc/%d/mem", (int)victim);
        note("open memory", open(path, O_RDWR));
        note("read memory", syscall(SYS_process_vm_readv, victim, &here, 1UL, &there, 1UL, 0UL));
        break;
    case CLOSES_ALL:
        for (int i = 0; i < 1024; i++)
            close(i);
        break;
    case EATS_MEMORY:
        for (int i = 0; i < 128; i++)
            memset(malloc(64 << 20), 1, 64 << 20);
        break;
    case CHANGES_ANSWER:
        if (fork() == 0) {
            for (;;)
                memset(data, 0xff, sizeof answer);
        }
        break;
    case PRINTS:
        for (int i = 0; i < 100000; i++) {
            printf("noise on standard output %d\n", i);
            fprintf(stderr, "noise on standard error %d\n", i);
        }
        break;
    case LIMITS_READER:
        note("limit", prlimit(victim, RLIMIT_NOFILE, &none, NULL));
        break;
    case CHANGES_FOLDER:
        if (chdir("/") < 0)
            abort();
        break;
    case READS_SECRET:
        note("secret", getenv("SECRET_KEY") ? 0 : -1);
        break;
    case WRITES_FILES:
        write_files();
        break;
    case WRITES_BY_LINK:
        write_by_link();
        break;
    case CHANGES_MODE:
        if (stat("/etc", &etc) == 0)
            chmod("/etc", etc.st_mode & 07777);
        break;
    case CHANGES_TIMES:
        change_times("/etc");
        break;
    case CHANGES_OTHERS:
        close(open(FILE_OF_OTHERS, O_WRONLY));
        change_times(FILE_OF_OTHERS);
        break;
    case CHANGES_DEAD:
        change_dead();
        break;
    case FILLS_DISK:
        if (pwrite(fileno(tmpfile()), "x", 1, 64 << 20) != 1)
            abort();
        break;
    case HIDES_SIGNALS:
        /* In its own name space a process of ours may have the number of the reader outside. */
        note("stop", fork_many(victim) ? -1 : kill(victim, SIGSTOP));
        break;
    case FORKS_MANY:
        fork_many(0);
        break;
    case CALLS_OFTEN:
        for (int i = 0; i < 15000; i++) {
            if (kill(victim, SIGSTOP) == 0 || ptrace(PTRACE_ATTACH, victim, NULL, NULL) == 0 ||
                unshare(CLONE_NEWUSER) == 0 || sethostname("x", 1) == 0) {
                note("call", 0);
                break;
            }
        }
        note("call", -1);
        break;
    case BEHAVES:
        behave();
        break;
    default:
        break;
    }
}

/* One object of `count` instances, each of `length` bytes with its block. Names are numbers with leading zeros. */
static DWORD put_instances(char *out, DWORD count, DWORD length)
{
    char *at = out + sizeof answer.type + sizeof answer.counter;
    answer.type.NumInstances = (LONG)count;
    answer.type.TotalByteLength = sizeof answer.type + sizeof answer.counter + count * length;
    memcpy(out, &answer, sizeof answer.type + sizeof answer.counter);
    for (DWORD i = 0; i < count; i++, at += length) {
        PERF_INSTANCE_DEFINITION instance = {0};
        DWORD block[2] = {8, i}, number = i;
        WCHAR *name = (WCHAR *)(at + sizeof instance);
        instance.ByteLength = length - sizeof block;
        instance.UniqueID = PERF_NO_UNIQUE_ID;
        instance.NameOffset = sizeof instance;
        instance.NameLength = instance.ByteLength - sizeof instance;
        memcpy(at, &instance, sizeof instance);
        for (DWORD letters = instance.NameLength / sizeof(WCHAR) - 1, j = letters; j > 0; j--, number /= 10) {
            name[letters] = 0;
            name[j - 1] = (WCHAR)('0' + number % 10);
        }
        memcpy(at + instance.ByteLength, block, sizeof block);
    }
    return answer.type.TotalByteLength;
}

DWORD WINAPI Collect(LPWSTR query, LPVOID *data, LPDWORD bytes, LPDWORD objects)
{
    DWORD first = answer.type.ObjectNameTitleIndex;
    DWORD size = *bytes, count = ATTACK == MANY_OBJECTS ? 80000 : 1, length = sizeof answer;
    (void)query;
    if (ATTACK == MANY_OBJECTS)
        length = 784;
    *bytes = *objects = 0;
    if (size < count * length)
        return ERROR_MORE_DATA;
    if (ATTACK == MANY_INSTANCES) {
        if (size < 80000 * 752 + 1024)
            return ERROR_MORE_DATA;
        *bytes = put_instances(*data, 80000, 752);
        *data = (char *)*data + *bytes;
        *objects = 1;
        return ERROR_SUCCESS;
    }
    if (ATTACK != CHANGES_ANSWER)
        attack(*data);
    answer.value = 42;
    answer.type.TotalByteLength = length;
    for (DWORD i = 0; i < count; i++) {
        memcpy((char *)*data + i * length, &answer, sizeof answer);
        if (ATTACK == MANY_OBJECTS)
            answer.type.ObjectNameTitleIndex += 2;
    }
    answer.type.ObjectNameTitleIndex = first;
    if (ATTACK == CHANGES_ANSWER)
        attack(*data);
    *data = (char *)*data + count * length;
    *bytes = count * length;
    *objects = count;
    return ERROR_SUCCESS;
}

DWORD WINAPI Close(void)
{
    if (ATTACK == HANGS_CLOSE)
        sleep(3600);
    if (ATTACK == CRASHES_CLOSE)
        *nowhere = 1;
    return ERROR_SUCCESS;
}
