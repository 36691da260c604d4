/* The types of Windows' headers that performance programs use, for other systems.
 *
 * Sizes are NT's on every machine: LONG and DWORD have 32 bits also where a long has 64, WCHAR has 16. Compile with
 * -fshort-wchar so that L"..." is a text of WCHAR; without it TEXT("...") still is one.
 */
#ifndef TALLYMON_WINDEF_H
#define TALLYMON_WINDEF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define TALLYMON_EXTERN extern "C"
#else
#define TALLYMON_EXTERN extern
#endif

#if defined(__cplusplus) && __cplusplus >= 201103L
#define TALLYMON_STATIC_ASSERT(condition, text) static_assert(condition, text)
#elif !defined(__cplusplus) && defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define TALLYMON_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#else
/* Older languages have no such word: an array of negative length is an error in all of them. */
#define TALLYMON_STATIC_ASSERT(condition, text) TALLYMON_ASSERT_LINE(condition, __LINE__)
#define TALLYMON_ASSERT_LINE(condition, line) TALLYMON_ASSERT_NAMED(condition, line)
#define TALLYMON_ASSERT_NAMED(condition, line) \
    extern const char tallymon_assert_##line[(condition) ? 1 : -1] __attribute__((unused))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* There is one calling convention, so these words stand for nothing. */
#ifndef __stdcall
#define __stdcall
#endif
#ifndef __cdecl
#define __cdecl
#endif
#define WINAPI
#define WINAPIV
#define CALLBACK
#define APIENTRY
#define PASCAL
#define FAR
#define NEAR
#define far
#define near
#define STDAPICALLTYPE
#define WINADVAPI
#define WINBASEAPI

/* What a provider library exports is visible, what a program imports needs no word. */
#ifndef __declspec
#define TALLYMON_DECLSPEC_dllexport __attribute__((visibility("default")))
#define TALLYMON_DECLSPEC_dllimport
#define TALLYMON_DECLSPEC_noreturn __attribute__((noreturn))
#define TALLYMON_DECLSPEC_thread __thread
#define TALLYMON_DECLSPEC_selectany __attribute__((weak))
#define __declspec(word) TALLYMON_DECLSPEC_##word
#endif
#define DECLSPEC_IMPORT

/* Annotations of later SDKs that say how a parameter is used. */
#ifndef IN
#define IN
#define OUT
#define OPTIONAL
#endif
#ifndef CONST
#define CONST const
#endif

#ifndef __int64
#define __int64 long long
#endif
#ifndef __int32
#define __int32 int
#endif
#ifndef __int16
#define __int16 short
#endif
#ifndef __int8
#define __int8 char
#endif

/* C89 and C++98 have no such type; every compiler does. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wlong-long"
/* A 64-bit value is aligned to 8 bytes in every structure of NT, also on 32-bit machines whose own rule is 4. */
#if UINTPTR_MAX > 0xFFFFFFFFu
typedef long long LONGLONG;
typedef unsigned long long ULONGLONG;
typedef double DOUBLE;
#define _WIN64_LAYOUT 1
#else
typedef long long LONGLONG __attribute__((aligned(8)));
typedef unsigned long long ULONGLONG __attribute__((aligned(8)));
typedef double DOUBLE __attribute__((aligned(8)));
#endif
#pragma GCC diagnostic pop

#ifndef VOID
#define VOID void
#endif
typedef char CHAR;
typedef unsigned char UCHAR;
typedef unsigned char BYTE;
typedef unsigned char BOOLEAN;
typedef short SHORT;
typedef unsigned short USHORT;
typedef unsigned short WORD;
typedef int BOOL;
typedef int INT;
typedef unsigned int UINT;
typedef int LONG;
typedef unsigned int ULONG;
typedef unsigned int DWORD;
typedef float FLOAT;
typedef int32_t INT32;
typedef uint32_t UINT32;
typedef uint32_t DWORD32;
typedef LONGLONG LONG64;
typedef ULONGLONG ULONG64;
typedef LONGLONG INT64;
typedef ULONGLONG UINT64;
typedef ULONGLONG DWORD64;
typedef ULONGLONG DWORDLONG;
typedef intptr_t INT_PTR;
typedef uintptr_t UINT_PTR;
typedef intptr_t LONG_PTR;
typedef uintptr_t ULONG_PTR;
typedef uintptr_t DWORD_PTR;
typedef size_t SIZE_T;
typedef ptrdiff_t SSIZE_T;

/* 16 bits always: the wide character of the compiler if it has that size, else the one of u"..." . */
#if __SIZEOF_WCHAR_T__ == 2
typedef wchar_t WCHAR;
#define TALLYMON_WIDE(text) L##text
#elif defined(__cplusplus) && __cplusplus >= 201103L
typedef char16_t WCHAR;
#define TALLYMON_WIDE(text) u##text
#else
typedef uint_least16_t WCHAR;
#define TALLYMON_WIDE(text) u##text
#endif

typedef void *PVOID, *LPVOID;
typedef const void *PCVOID, *LPCVOID;
typedef CHAR *PCHAR, *LPCH, *PCH, *LPSTR, *PSTR, *NPSTR, *PZZSTR;
typedef const CHAR *LPCSTR, *PCSTR, *LPCCH, *PCZZSTR;
typedef WCHAR *PWCHAR, *LPWCH, *PWCH, *LPWSTR, *PWSTR, *NWPSTR, *PZZWSTR;
typedef const WCHAR *LPCWSTR, *PCWSTR, *LPCWCH, *PCZZWSTR;
typedef BYTE *PBYTE, *LPBYTE;
typedef UCHAR *PUCHAR;
typedef SHORT *PSHORT;
typedef USHORT *PUSHORT;
typedef WORD *PWORD, *LPWORD;
typedef BOOL *PBOOL, *LPBOOL;
typedef BOOLEAN *PBOOLEAN;
typedef INT *PINT, *LPINT;
typedef UINT *PUINT, *LPUINT;
typedef LONG *PLONG, *LPLONG;
typedef ULONG *PULONG;
typedef DWORD *PDWORD, *LPDWORD;
typedef FLOAT *PFLOAT;
typedef LONGLONG *PLONGLONG;
typedef ULONGLONG *PULONGLONG;
typedef DWORD_PTR *PDWORD_PTR;
typedef ULONG_PTR *PULONG_PTR;
typedef SIZE_T *PSIZE_T;

#ifdef UNICODE
typedef WCHAR TCHAR, *PTCHAR;
typedef LPWSTR LPTSTR, PTSTR;
typedef LPCWSTR LPCTSTR, PCTSTR;
#define __TEXT(text) TALLYMON_WIDE(text)
#else
typedef char TCHAR, *PTCHAR;
typedef LPSTR LPTSTR, PTSTR;
typedef LPCSTR LPCTSTR, PCTSTR;
#define __TEXT(text) text
#endif
#define TEXT(text) __TEXT(text)

#ifndef FALSE
#define FALSE 0
#endif
#ifndef TRUE
#define TRUE 1
#endif
#define MAX_PATH 260

typedef void *HANDLE, **PHANDLE, **LPHANDLE;
typedef struct HKEY__ *HKEY, **PHKEY;
typedef struct HWND__ *HWND;
typedef struct HINSTANCE__ *HINSTANCE;
typedef HINSTANCE HMODULE;
typedef DWORD LCID;
typedef WORD LANGID;
typedef DWORD COLORREF;
typedef LONG HRESULT;
typedef LONG NTSTATUS;
typedef DWORD ACCESS_MASK;
typedef ACCESS_MASK REGSAM;
typedef LONG LSTATUS;
typedef INT_PTR (*FARPROC)(void);
#define INVALID_HANDLE_VALUE ((HANDLE)(LONG_PTR)-1)
#define STDAPI TALLYMON_EXTERN HRESULT

typedef union _LARGE_INTEGER {
    struct {
        DWORD LowPart;
        LONG HighPart;
    } u;
    LONGLONG QuadPart;
#if !defined(__STRICT_ANSI__) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
    __extension__ struct {
        DWORD LowPart;
        LONG HighPart;
    };
#endif
} LARGE_INTEGER, *PLARGE_INTEGER;

typedef union _ULARGE_INTEGER {
    struct {
        DWORD LowPart;
        DWORD HighPart;
    } u;
    ULONGLONG QuadPart;
#if !defined(__STRICT_ANSI__) || (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L)
    __extension__ struct {
        DWORD LowPart;
        DWORD HighPart;
    };
#endif
} ULARGE_INTEGER, *PULARGE_INTEGER;

/* 100 ns since the first of January 1601. */
typedef struct _FILETIME {
    DWORD dwLowDateTime;
    DWORD dwHighDateTime;
} FILETIME, *PFILETIME, *LPFILETIME;

typedef struct _SYSTEMTIME {
    WORD wYear;
    WORD wMonth;
    WORD wDayOfWeek;
    WORD wDay;
    WORD wHour;
    WORD wMinute;
    WORD wSecond;
    WORD wMilliseconds;
} SYSTEMTIME, *PSYSTEMTIME, *LPSYSTEMTIME;

typedef struct _GUID {
    DWORD Data1;
    WORD Data2;
    WORD Data3;
    BYTE Data4[8];
} GUID, *LPGUID;

typedef struct _SECURITY_ATTRIBUTES {
    DWORD nLength;
    LPVOID lpSecurityDescriptor;
    BOOL bInheritHandle;
} SECURITY_ATTRIBUTES, *PSECURITY_ATTRIBUTES, *LPSECURITY_ATTRIBUTES;

#define LOWORD(value) ((WORD)((DWORD_PTR)(value) & 0xFFFF))
#define HIWORD(value) ((WORD)(((DWORD_PTR)(value) >> 16) & 0xFFFF))
#define LOBYTE(value) ((BYTE)((DWORD_PTR)(value) & 0xFF))
#define HIBYTE(value) ((BYTE)(((DWORD_PTR)(value) >> 8) & 0xFF))
#define MAKELONG(low, high) ((LONG)(((WORD)(low)) | ((DWORD)((WORD)(high))) << 16))
#define MAKELANGID(primary, sub) ((WORD)(((WORD)(sub) << 10) | (WORD)(primary)))
#define MAKELCID(language, sort) ((DWORD)(((DWORD)(WORD)(sort) << 16) | (DWORD)(WORD)(language)))
#define UNREFERENCED_PARAMETER(name) ((void)(name))
#define ARRAYSIZE(array) (sizeof(array) / sizeof((array)[0]))

TALLYMON_STATIC_ASSERT(sizeof(CHAR) == 1 && sizeof(BYTE) == 1 && sizeof(BOOLEAN) == 1, "8 bits");
TALLYMON_STATIC_ASSERT(sizeof(WCHAR) == 2 && sizeof(WORD) == 2 && sizeof(SHORT) == 2, "16 bits");
TALLYMON_STATIC_ASSERT(sizeof(BOOL) == 4 && sizeof(DWORD) == 4 && sizeof(LONG) == 4, "32 bits");
TALLYMON_STATIC_ASSERT(sizeof(LONGLONG) == 8 && sizeof(LARGE_INTEGER) == 8, "64 bits");
TALLYMON_STATIC_ASSERT(sizeof(HANDLE) == sizeof(DWORD_PTR) && sizeof(HKEY) == sizeof(void *), "a pointer");
TALLYMON_STATIC_ASSERT(sizeof(FILETIME) == 8 && sizeof(SYSTEMTIME) == 16 && sizeof(GUID) == 16, "NT's layout");

#ifdef __cplusplus
}
#endif

#endif
