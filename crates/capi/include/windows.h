/* What programs that read or provide performance counters use of Windows, for other systems.
 *
 * Types are in windef.h, error codes in winerror.h, the registry in winreg.h, data blocks in winperf.h. Functions come
 * from libtallymon; those that work on texts and need nothing of it are here, so that a provider library needs no other
 * library. Names end with A for texts of bytes (UTF-8) and W for texts of 16-bit units; the plain name is one of the two.
 */
#ifndef TALLYMON_WINDOWS_H
#define TALLYMON_WINDOWS_H

#include <stdarg.h>
#include <string.h>
#ifndef WIN32_LEAN_AND_MEAN
#include <stdlib.h>
#endif

#include "windef.h"
#include "winerror.h"
#include "winperf.h"
#include "winreg.h"

#ifdef __cplusplus
extern "C" {
#endif

#define LOCALE_SYSTEM_DEFAULT 0x0800
#define LOCALE_USER_DEFAULT 0x0400
#define LOCALE_INVARIANT 0x007F
#define LANG_NEUTRAL 0x00
#define LANG_ENGLISH 0x09
#define SUBLANG_DEFAULT 0x01
#define NORM_IGNORECASE 0x00000001
#define LINGUISTIC_IGNORECASE 0x00000010
#define CSTR_LESS_THAN 1
#define CSTR_EQUAL 2
#define CSTR_GREATER_THAN 3
#define CP_ACP 0
#define CP_UTF8 65001

#define INFINITE 0xFFFFFFFF
#define WAIT_OBJECT_0 0x00000000
#define WAIT_ABANDONED 0x00000080
#define WAIT_TIMEOUT 258
#define WAIT_FAILED 0xFFFFFFFF

#define DLL_PROCESS_DETACH 0
#define DLL_PROCESS_ATTACH 1
#define DLL_THREAD_ATTACH 2
#define DLL_THREAD_DETACH 3

#define MB_OK 0x00000000
#define MB_ICONERROR 0x00000010
#define IDOK 1

/* The error of the last function of this thread that has no other way to say it. */
DWORD WINAPI GetLastError(void);
void WINAPI SetLastError(DWORD error);

void WINAPI Sleep(DWORD milliseconds);
DWORD WINAPI GetTickCount(void);
ULONGLONG WINAPI GetTickCount64(void);
BOOL WINAPI QueryPerformanceCounter(LARGE_INTEGER *count);
BOOL WINAPI QueryPerformanceFrequency(LARGE_INTEGER *frequency);

/* Times. Local time follows TZ and /etc/localtime, as localtime() does. */
void WINAPI GetSystemTime(LPSYSTEMTIME time);
void WINAPI GetLocalTime(LPSYSTEMTIME time);
void WINAPI GetSystemTimeAsFileTime(LPFILETIME time);
BOOL WINAPI FileTimeToSystemTime(const FILETIME *file_time, LPSYSTEMTIME time);
BOOL WINAPI SystemTimeToFileTime(const SYSTEMTIME *time, LPFILETIME file_time);
BOOL WINAPI FileTimeToLocalFileTime(const FILETIME *file_time, LPFILETIME local);
LONG WINAPI CompareFileTime(const FILETIME *first, const FILETIME *second);

/* Events, which PdhCollectQueryDataEx sets after every sample. */
HANDLE WINAPI CreateEventA(LPSECURITY_ATTRIBUTES security, BOOL manual_reset, BOOL initial_state, LPCSTR name);
HANDLE WINAPI CreateEventW(LPSECURITY_ATTRIBUTES security, BOOL manual_reset, BOOL initial_state, LPCWSTR name);
BOOL WINAPI SetEvent(HANDLE event);
BOOL WINAPI ResetEvent(HANDLE event);
DWORD WINAPI WaitForSingleObject(HANDLE handle, DWORD milliseconds);
BOOL WINAPI CloseHandle(HANDLE handle);

/* The name of this machine, as it stands in a data block. */
BOOL WINAPI GetComputerNameA(LPSTR buffer, LPDWORD characters);
BOOL WINAPI GetComputerNameW(LPWSTR buffer, LPDWORD characters);

/* Between UTF-8 and UTF-16; other code pages are refused with ERROR_INVALID_PARAMETER. */
int WINAPI MultiByteToWideChar(UINT page, DWORD flags, LPCSTR text, int bytes, LPWSTR wide, int characters);
int WINAPI WideCharToMultiByte(UINT page, DWORD flags, LPCWSTR wide, int characters, LPSTR text, int bytes,
                               LPCSTR default_character, LPBOOL used_default);

/* Compares by the order of code units, optionally without regard to the case of letters; a length of -1 is a text
 * with a zero at its end. */
int WINAPI CompareStringA(LCID locale, DWORD flags, LPCSTR first, int first_length, LPCSTR second, int second_length);
int WINAPI CompareStringW(LCID locale, DWORD flags, LPCWSTR first, int first_length, LPCWSTR second,
                          int second_length);

#ifdef __cplusplus
}
#endif

#include "tallymon/text.h"

#define lstrlenA(text) ((int)strlen(text))
#define lstrlenW(text) ((int)tallymon_length(text))
#define lstrcpyA strcpy
#define lstrcpyW tallymon_copy
#define lstrcpynA tallymon_copy_n_bytes
#define lstrcpynW tallymon_copy_n
#define lstrcatA strcat
#define lstrcatW tallymon_append
#define lstrcmpA strcmp
#define lstrcmpW tallymon_compare
#define lstrcmpiA tallymon_compare_bytes_caseless
#define lstrcmpiW tallymon_compare_caseless
#define wsprintfA tallymon_sprintf_bytes
#define wsprintfW tallymon_sprintf
#define ZeroMemory(address, bytes) memset((address), 0, (bytes))
#define RtlZeroMemory ZeroMemory
#define CopyMemory(to, from, bytes) memcpy((to), (from), (bytes))
#define MoveMemory(to, from, bytes) memmove((to), (from), (bytes))
#define FillMemory(address, bytes, value) memset((address), (value), (bytes))
/* There is no desktop: the text of a message box goes to standard error, as does that for a debugger. What a provider
 * library writes there becomes events: 'tally events' shows them. */
#define OutputDebugStringA(text) tallymon_debug_bytes(text)
#define OutputDebugStringW(text) tallymon_debug(text)
#define MessageBoxA(owner, text, title, style) ((void)(owner), tallymon_message_bytes(text, title, style))
#define MessageBoxW(owner, text, title, style) ((void)(owner), tallymon_message(text, title, style))

/* With -fshort-wchar the C library's own functions for wide texts would read each text as one of 32-bit units. */
#if __SIZEOF_WCHAR_T__ == 2
#ifdef __cplusplus
#include <cwchar>
#else
#include <wchar.h>
#endif
#define wcslen tallymon_length
#define wcscpy tallymon_copy
#define wcscat tallymon_append
#define wcscmp tallymon_compare
#define wcsncmp tallymon_compare_n
#define wcschr tallymon_find
#define wcsrchr tallymon_find_last
#define wcsstr tallymon_find_text
#define _wcsicmp tallymon_compare_caseless
#define _wtoi tallymon_to_int
#define wprintf tallymon_printf
#define fwprintf tallymon_fprintf
#endif

#ifdef UNICODE
#define CreateEvent CreateEventW
#define CompareString CompareStringW
#define GetComputerName GetComputerNameW
#define lstrlen lstrlenW
#define lstrcpy lstrcpyW
#define lstrcpyn lstrcpynW
#define lstrcat lstrcatW
#define lstrcmp lstrcmpW
#define lstrcmpi lstrcmpiW
#define wsprintf wsprintfW
#define MessageBox MessageBoxW
#define OutputDebugString OutputDebugStringW
#else
#define CreateEvent CreateEventA
#define CompareString CompareStringA
#define GetComputerName GetComputerNameA
#define lstrlen lstrlenA
#define lstrcpy lstrcpyA
#define lstrcpyn lstrcpynA
#define lstrcat lstrcatA
#define lstrcmp lstrcmpA
#define lstrcmpi lstrcmpiA
#define wsprintf wsprintfA
#define MessageBox MessageBoxA
#define OutputDebugString OutputDebugStringA
#endif

#endif
