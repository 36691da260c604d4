/* What endings.cs cannot do itself: signals in the midst of its calls, and a fork without another program. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t handled;

static void count(int signal)
{
    (void)signal;
    handled++;
}

void handle_signals(void)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = count;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
}

int handled_signals(void)
{
    return handled;
}

/* The exit code of the child: 7, or what became of it. */
int call_in_a_fork(int (*callback)(int), int n)
{
    int status = 0, sum = 0;
    pid_t child = fork();
    if (child == 0) {
        while (n-- > 0)
            sum += callback(1);
        _exit(sum == 1000 ? 7 : 1);
    }
    if (child < 0 || waitpid(child, &status, 0) != child)
        return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}
