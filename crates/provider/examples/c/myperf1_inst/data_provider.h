/* Makes up the data of the second example: three instances, whose names stay and whose values are random. */
#ifndef DATA_PROVIDER_H
#define DATA_PROVIDER_H

#include <stdlib.h>
#include <string.h>

#include <windows.h>

namespace Data {

static const WCHAR *const names[] = { L"first", L"second", L"the third" };

inline int get_instances_count()
{
    return sizeof(names) / sizeof(names[0]);
}

/* The name is allocated with malloc; its length is in characters, without the end. */
inline void get_name(int i, WCHAR **name, int *name_len)
{
    *name_len = lstrlenW(names[i]);
    *name = (WCHAR *)malloc((*name_len + 1) * sizeof(WCHAR));
    memcpy(*name, names[i], (*name_len + 1) * sizeof(WCHAR));
}

inline DWORD get_data(int i)
{
    return (i + 1) * 100 + rand() % 100;
}

} // namespace Data

#endif
