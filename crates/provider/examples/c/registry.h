/* The first indexes of a service, which lodctr gave to its names. Both examples include it, and define SERVICE before.
 *
 * On Windows this reads "First Counter" and "First Help" of the key Performance of the service. On Linux, a library in a
 * process of its own finds them in its environment, so that it needs no other library for two numbers. A reader that loads
 * it into its own process calls OpenIndexes before Open instead, because an environment belongs to the whole process.
 */
#ifndef REGISTRY_H
#define REGISTRY_H

#include <stdlib.h>

#include <windows.h>

namespace Registry {

#ifdef _WIN32

inline DWORD GetFirst(DWORD *name, DWORD *help)
{
    const WCHAR *key = L"SYSTEM\\CurrentControlSet\\Services\\" SERVICE L"\\Performance";
    DWORD size = sizeof(*name);
    DWORD res = RegGetValueW(HKEY_LOCAL_MACHINE, key, L"First Counter", RRF_RT_REG_DWORD, NULL, name, &size);
    size = sizeof(*help);
    return res == ERROR_SUCCESS
        ? RegGetValueW(HKEY_LOCAL_MACHINE, key, L"First Help", RRF_RT_REG_DWORD, NULL, help, &size)
        : res;
}

} // namespace Registry

#else

/* Not shared with other libraries in the same process. */
static DWORD first[2];

inline DWORD GetNumber(const char *name, DWORD *number)
{
    const char *text = getenv(name);
    if (text == NULL)
        return ERROR_FILE_NOT_FOUND;
    *number = (DWORD)strtoul(text, NULL, 10);
    return ERROR_SUCCESS;
}

inline DWORD GetFirst(DWORD *name, DWORD *help)
{
    if (first[0] != 0) {
        *name = first[0];
        *help = first[1];
        return ERROR_SUCCESS;
    }
    DWORD res = GetNumber("TALLYMON_FIRST_COUNTER", name);
    return res == ERROR_SUCCESS ? GetNumber("TALLYMON_FIRST_HELP", help) : res;
}

} // namespace Registry

extern "C" void OpenIndexes(const WCHAR *, DWORD firstCounter, DWORD firstHelp)
{
    Registry::first[0] = firstCounter;
    Registry::first[1] = firstHelp;
}

#endif
#endif
