/* The names of Microsoft's C library that mean bytes or wide characters, by _UNICODE (or UNICODE). */
#ifndef TALLYMON_TCHAR_H
#define TALLYMON_TCHAR_H

#include "windef.h"
#include "tallymon/text.h"

#include <stdlib.h>
#include <string.h>

#if defined(_UNICODE) && !defined(UNICODE)
#error "_UNICODE and UNICODE say the same and must both be defined: TCHAR would have two meanings"
#endif

#define _T(text) __TEXT(text)
#define _TEXT(text) __TEXT(text)

#ifdef UNICODE
#define _tprintf tallymon_printf
#define _ftprintf tallymon_fprintf
#define _stprintf tallymon_sprintf
#define _tcslen tallymon_length
#define _tcscpy tallymon_copy
#define _tcscat tallymon_append
#define _tcscmp tallymon_compare
#define _tcsncmp tallymon_compare_n
#define _tcsicmp tallymon_compare_caseless
#define _tcschr tallymon_find
#define _tcsrchr tallymon_find_last
#define _tcsstr tallymon_find_text
#define _ttoi tallymon_to_int
#else
#define _tprintf tallymon_printf_bytes
#define _ftprintf fprintf
#define _stprintf tallymon_sprintf_bytes
#define _tcslen strlen
#define _tcscpy strcpy
#define _tcscat strcat
#define _tcscmp strcmp
#define _tcsncmp strncmp
#define _tcsicmp tallymon_compare_bytes_caseless
#define _tcschr strchr
#define _tcsrchr strrchr
#define _tcsstr strstr
#define _ttoi atoi
#endif
#define _tmain main

#endif
