/* Adding the names and help texts of a provider to the system's name tables, and removing them. */
#ifndef TALLYMON_LOADPERF_H
#define TALLYMON_LOADPERF_H

#include "windef.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The command line is that of lodctr or unlodctr: a first word that is ignored, then the file or the service, as
 * `"lodctr c:\\myapp\\myapp.ini"`. Quiet says that nothing is to be printed. The answer is an error code of winerror.h. */
DWORD WINAPI LoadPerfCounterTextStringsA(LPSTR command_line, BOOL quiet);
DWORD WINAPI LoadPerfCounterTextStringsW(LPWSTR command_line, BOOL quiet);
DWORD WINAPI UnloadPerfCounterTextStringsA(LPSTR command_line, BOOL quiet);
DWORD WINAPI UnloadPerfCounterTextStringsW(LPWSTR command_line, BOOL quiet);

#ifdef UNICODE
#define LoadPerfCounterTextStrings LoadPerfCounterTextStringsW
#define UnloadPerfCounterTextStrings UnloadPerfCounterTextStringsW
#else
#define LoadPerfCounterTextStrings LoadPerfCounterTextStringsA
#define UnloadPerfCounterTextStrings UnloadPerfCounterTextStringsA
#endif

#ifdef __cplusplus
}
#endif

#endif
