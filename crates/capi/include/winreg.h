/* The part of the registry's interface through which performance data comes.
 *
 * HKEY_PERFORMANCE_DATA answers every query of a data block and every name table; nothing has to be opened first. Below
 * HKEY_LOCAL_MACHINE the keys of the performance library can be read: its own, its name tables, and the Performance key
 * of every registered service.
 */
#ifndef TALLYMON_WINREG_H
#define TALLYMON_WINREG_H

#include "windef.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HKEY_CLASSES_ROOT ((HKEY)(ULONG_PTR)((LONG)0x80000000))
#define HKEY_CURRENT_USER ((HKEY)(ULONG_PTR)((LONG)0x80000001))
#define HKEY_LOCAL_MACHINE ((HKEY)(ULONG_PTR)((LONG)0x80000002))
#define HKEY_USERS ((HKEY)(ULONG_PTR)((LONG)0x80000003))
#define HKEY_PERFORMANCE_DATA ((HKEY)(ULONG_PTR)((LONG)0x80000004))
#define HKEY_PERFORMANCE_TEXT ((HKEY)(ULONG_PTR)((LONG)0x80000050))
#define HKEY_PERFORMANCE_NLSTEXT ((HKEY)(ULONG_PTR)((LONG)0x80000060))

#define REG_NONE 0ul
#define REG_SZ 1ul
#define REG_EXPAND_SZ 2ul
#define REG_BINARY 3ul
#define REG_DWORD 4ul
#define REG_DWORD_LITTLE_ENDIAN 4ul
#define REG_DWORD_BIG_ENDIAN 5ul
#define REG_LINK 6ul
#define REG_MULTI_SZ 7ul
#define REG_QWORD 11ul

#define KEY_QUERY_VALUE 0x0001
#define KEY_SET_VALUE 0x0002
#define KEY_CREATE_SUB_KEY 0x0004
#define KEY_ENUMERATE_SUB_KEYS 0x0008
#define KEY_NOTIFY 0x0010
#define KEY_READ 0x20019
#define KEY_WRITE 0x20006
#define KEY_ALL_ACCESS 0xF003F

/* Reads a value. With HKEY_PERFORMANCE_DATA the name is the query: "Global", "Costly", title indexes, "Counter 009".
 *
 * ERROR_MORE_DATA means: make the buffer larger and ask again. What is needed is not said, as on NT; *bytes is then
 * undefined. TallymonSetNeededSize (tallymon.h) makes every such answer carry the needed size. */
LONG WINAPI RegQueryValueExA(HKEY key, LPCSTR name, LPDWORD reserved, LPDWORD type, LPBYTE data, LPDWORD bytes);
LONG WINAPI RegQueryValueExW(HKEY key, LPCWSTR name, LPDWORD reserved, LPDWORD type, LPBYTE data, LPDWORD bytes);

/* Opens a key below HKEY_LOCAL_MACHINE or below another open key, to be read. */
LONG WINAPI RegOpenKeyExA(HKEY key, LPCSTR path, DWORD options, REGSAM access, PHKEY result);
LONG WINAPI RegOpenKeyExW(HKEY key, LPCWSTR path, DWORD options, REGSAM access, PHKEY result);

/* Closes a key. For HKEY_PERFORMANCE_DATA: lets go of what was kept between queries. */
LONG WINAPI RegCloseKey(HKEY key);

/* A key of another machine. NULL, an empty name and the name of this machine are this machine. */
LONG WINAPI RegConnectRegistryA(LPCSTR machine, HKEY key, PHKEY result);
LONG WINAPI RegConnectRegistryW(LPCWSTR machine, HKEY key, PHKEY result);

#ifdef UNICODE
#define RegQueryValueEx RegQueryValueExW
#define RegOpenKeyEx RegOpenKeyExW
#define RegConnectRegistry RegConnectRegistryW
#else
#define RegQueryValueEx RegQueryValueExA
#define RegOpenKeyEx RegOpenKeyExA
#define RegConnectRegistry RegConnectRegistryA
#endif

#ifdef __cplusplus
}
#endif

#endif
