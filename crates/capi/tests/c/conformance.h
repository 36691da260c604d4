/* For programs that say what functions answer: one line for each call, with the status of NT.
 *
 *   IS(status, call)                  we do what NT does
 *   DIFFERS(ours, NT's, why, call)    we do something else on purpose
 *
 * Each line that is not so is printed, and at the end how many of each kind there were.
 */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

#include <windows.h>
#include <pdh.h>
#include <pdhmsg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tallymon.h>

static int same, differences, wrong;

static void line(const char *call, unsigned found, unsigned expected, int *kind) {
    if (found == expected) {
        ++*kind;
    } else {
        wrong++;
        printf("wrong 0x%08X instead of 0x%08X: %s\n", found, expected, call);
    }
}

#define IS(expected, call) line(#call, (unsigned)(call), (unsigned)(expected), &same)
#define DIFFERS(ours, nt, why, call) line(#call, (unsigned)(call), (unsigned)(ours), &differences)
#define W(text) ((LPWSTR)TALLYMON_WIDE(text))

/* A size for a parameter that the function changes, and a second one for functions that take two; what became of them. */
static DWORD size, more;

static inline DWORD *sized(DWORD wanted) {
    size = wanted;
    return &size;
}

static inline DWORD *sized_too(DWORD wanted) {
    more = wanted;
    return &more;
}

static int summary(void) {
    printf("%d as NT, %d on purpose not, %d wrong\n", same, differences, wrong);
    return wrong != 0;
}

#endif
