/* An object without instances: the first listing of "Performance counters, part 2" (S. Kholodilov, RSDN Magazine
 * 4/2003), with the line breaks that its typesetting lost, its comments in English, and UpTo8 as its reader was asked to
 * write it.
 *
 *   g++ -shared -fPIC -fshort-wchar -I ../../../../capi/include -I .. myperf1.cpp -o libmyperf1.so
 */
#include <windows.h>
#include "offset.h"   // offsets of the indexes of the counters and of the object
#define SERVICE L"MyPerf1"
#include "registry.h" // reads "First Counter" and "First Help" from the key of the service

PERF_OBJECT_TYPE        type     = {0};
PERF_COUNTER_DEFINITION counter1 = {0};
PERF_COUNTER_DEFINITION counter2 = {0};
PERF_COUNTER_BLOCK      bl       = {0};

const WCHAR* hw = L"Hello, World!";

// Rounds v up to a multiple of 8.
DWORD UpTo8(DWORD v)
{
  return (v + 7) & ~7u;
}

// Called when the library is loaded; fills the global structures.
extern "C" __declspec(dllexport) DWORD CALLBACK Open(LPWSTR lpDeviceNames)
{
  DWORD name;
  DWORD help;

  // Reads "First Counter" and "First Help" from the registry.
  DWORD res = Registry::GetFirst(&name, &help);
  if (res != ERROR_SUCCESS)
  {
    // Bad luck. The library is probably not registered as it should be.
    return res;
  }

  // The description of the object. Its size is computed at the end.
  type.ObjectNameTitleIndex  = name + TYPE_OFFSET;
  type.ObjectHelpTitleIndex  = help + TYPE_OFFSET;
  type.NumCounters           = 2;                   // two counters
  type.NumInstances          = PERF_NO_INSTANCES;   // no instances
  type.HeaderLength          = sizeof(type);

  // The description of the first counter
  counter1.CounterNameTitleIndex = name + COUNTER1_OFFSET;
  counter1.CounterHelpTitleIndex = help + COUNTER1_OFFSET;
  counter1.CounterSize           = (lstrlenW(hw) + 1) * sizeof(WCHAR);
  counter1.CounterType           = PERF_SIZE_VARIABLE_LEN | PERF_TYPE_TEXT
                                          | PERF_TEXT_UNICODE;
  // The structure PERF_COUNTER_BLOCK has to fit in before it.
  counter1.CounterOffset         = sizeof(bl);
  counter1.ByteLength            = sizeof(counter1);

  // The description of the second counter
  counter2.CounterNameTitleIndex = name + COUNTER2_OFFSET;
  counter2.CounterHelpTitleIndex = help + COUNTER2_OFFSET;
  counter2.CounterSize           = sizeof(DWORD);
  counter2.CounterType           = PERF_SIZE_DWORD | PERF_TYPE_NUMBER;
  // It follows the first one.
  counter2.CounterOffset     = counter1.CounterOffset + counter1.CounterSize;
  counter2.ByteLength        = sizeof(counter2);

  // The size of the data: the offset of the last counter and its length
  bl.ByteLength = counter2.CounterOffset + counter2.CounterSize;

  type.DefinitionLength = type.HeaderLength +
                          counter1.ByteLength +
                          counter2.ByteLength;

  // The size of the object has to be a multiple of 8 bytes, or an event recommends to ask the author for a newer library.
  type.TotalByteLength  = UpTo8(type.DefinitionLength + bl.ByteLength);

  return ERROR_SUCCESS;
}

// Called to collect data. It does not look at the query, and just copies the data into the buffer.
extern "C" __declspec(dllexport) DWORD WINAPI Collect(LPWSTR lpwszValue,
                                                      LPVOID *lppData,
                                                      LPDWORD lpcbBytes,
                                                      LPDWORD lpcObjectTypes)
{
  if (*lpcbBytes < type.TotalByteLength)
  {
    // It does not fit in.
    *lpcbBytes = 0;
    *lpcObjectTypes = 0;
    return ERROR_MORE_DATA;
  }

  char* temp = (char*)(*lppData);

  // The description of the object
  memcpy(temp, &type, sizeof(type));
  temp += type.HeaderLength;

  // The description of the first counter
  memcpy(temp, &counter1, sizeof(counter1));
  temp += counter1.ByteLength;

  // The description of the second counter
  memcpy(temp, &counter2, sizeof(counter2));
  temp += counter2.ByteLength;

  // The header of the block of data
  memcpy(temp, &bl, sizeof(bl));

  // The data of the first counter
  memcpy(temp+counter1.CounterOffset, hw, (lstrlenW(hw) + 1)*sizeof(WCHAR));

  DWORD v = rand() % 10;

  // The data of the second counter
  memcpy(temp + counter2.CounterOffset, &v, sizeof(DWORD));

  // The parameters that give back
  *lppData        = (char*)(*lppData) + type.TotalByteLength;
  *lpcbBytes      = type.TotalByteLength;
  *lpcObjectTypes = 1;

  return ERROR_SUCCESS;
}

extern "C" __declspec(dllexport) DWORD WINAPI Close()
{
  return ERROR_SUCCESS;
}
