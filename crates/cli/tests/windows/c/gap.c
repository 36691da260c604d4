/* Stands before a provider library, `tested.dll` in its own folder, and passes every call on to it.
 *
 *   x86_64-w64-mingw32-gcc -shared -O1 -o gap.dll gap.c
 *
 * Wine up to version 10 begins the first object 88 bytes (the size of the header) too late and does not count them. There
 * what the library wrote is moved to the front by as much; on Windows it stays where it is. */
#include <windows.h>
#include <winperf.h>
#include <string.h>

static PM_OPEN_PROC *open;
static PM_COLLECT_PROC *collect;
static PM_CLOSE_PROC *close;

BOOL WINAPI DllMain(HINSTANCE instance, DWORD reason, LPVOID reserved) {
    static HMODULE tested;
    WCHAR path[1024];
    (void)reserved;
    if (reason == DLL_PROCESS_DETACH && tested != NULL) FreeLibrary(tested);
    if (reason != DLL_PROCESS_ATTACH) return TRUE;
    DWORD length = GetModuleFileNameW(instance, path, 1000);
    while (length > 0 && path[length - 1] != L'\\') length--;
    wcscpy(path + length, L"tested.dll");
    tested = LoadLibraryW(path);
    if (tested == NULL) return FALSE;
    open = (PM_OPEN_PROC *)(void *)GetProcAddress(tested, "Open");
    collect = (PM_COLLECT_PROC *)(void *)GetProcAddress(tested, "Collect");
    close = (PM_CLOSE_PROC *)(void *)GetProcAddress(tested, "Close");
    return open != NULL && collect != NULL && close != NULL;
}

__declspec(dllexport) DWORD APIENTRY Open(LPWSTR device) { return open(device); }
__declspec(dllexport) DWORD APIENTRY Close(void) { return close(); }

__declspec(dllexport) DWORD APIENTRY Collect(LPWSTR query, LPVOID *data, LPDWORD bytes, LPDWORD objects) {
    BYTE *begin = *data;
    DWORD status = collect(query, data, bytes, objects);
    if (status == ERROR_SUCCESS && GetProcAddress(GetModuleHandleA("ntdll.dll"), "wine_get_version") != NULL)
        memmove(begin - sizeof(PERF_DATA_BLOCK), begin, *bytes);
    return status;
}
