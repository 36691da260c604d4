/* What Tallymon has and Windows has not.
 *
 * Everything else of the C interface has the names of Windows: counters by path are in pdh.h, data blocks and name tables
 * come through RegQueryValueEx of winreg.h. Who opens a handle closes it: PdhCloseQuery for a query and all its counters,
 * PdhCloseLog for a data source, RegCloseKey for a key, CloseHandle for an event. Handles are numbers that are checked;
 * one that was closed is refused, whatever was opened since.
 */
#ifndef TALLYMON_H
#define TALLYMON_H

#include "windef.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether a RegQueryValueEx whose buffer is too small for a data block says how many bytes are needed. NT does not: it
 * leaves the size as it was, and so does Tallymon until this is called with TRUE. Returns what was set before. A new
 * sample may be larger than the last one, so a program asks again in a loop all the same. */
BOOL WINAPI TallymonSetNeededSize(BOOL wanted);

#ifdef __cplusplus
}
#endif

#endif
