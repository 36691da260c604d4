/* An object with instances: the second listing of "Performance counters, part 2" (S. Kholodilov, RSDN Magazine 4/2003),
 * with the line breaks that its typesetting lost, its comments in English, and UpTo8 as its reader was asked to write it.
 *
 *   g++ -shared -fPIC -fshort-wchar -I ../../../../capi/include -I .. myperf1_inst.cpp -o libmyperf1_inst.so
 */
#include <windows.h>
#include "offset.h"        // offsets of the indexes of the counters and of the object
#define SERVICE L"MyPerf1_inst"
#include "registry.h"      // reads "First Counter" and "First Help" from the key of the service
#include "data_provider.h" // the namespace Data, which makes up the data

PERF_OBJECT_TYPE         type     = {0};
PERF_COUNTER_DEFINITION  counter  = {0};
PERF_INSTANCE_DEFINITION instance = {0};
PERF_COUNTER_BLOCK       bl       = {0};

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

  // The description of the object. Its size and the number of instances are computed in Collect.
  type.ObjectNameTitleIndex  = name + TYPE_OFFSET;
  type.ObjectHelpTitleIndex  = help + TYPE_OFFSET;
  type.NumCounters           = 1;
  type.HeaderLength          = sizeof(type);
  type.CodePage              = 0;               // all names in Unicode

  // The description of the counter
  counter.CounterNameTitleIndex = name + COUNTER_OFFSET;
  counter.CounterHelpTitleIndex = help + COUNTER_OFFSET;
  counter.CounterSize           = sizeof(DWORD);
  counter.CounterType           = PERF_SIZE_DWORD | PERF_TYPE_NUMBER;
  counter.CounterOffset         = sizeof(bl);
  counter.ByteLength            = sizeof(counter);

  // The description of an instance; the other fields are different for each.
  instance.ParentObjectTitleIndex = 0;
  instance.ParentObjectInstance   = 0;
  instance.UniqueID               = PERF_NO_UNIQUE_ID;
  instance.NameOffset             = sizeof(instance);

  // The block of data
  bl.ByteLength = counter.CounterOffset + counter.CounterSize;

  type.DefinitionLength = type.HeaderLength + counter.ByteLength;

  return ERROR_SUCCESS;
}

// Called to collect data. It does not look at the query, and just copies the data into the buffer.
extern "C" __declspec(dllexport) DWORD WINAPI Collect(LPWSTR lpwszValue,
                                                      LPVOID *lppData,
                                                      LPDWORD lpcbBytes,
                                                      LPDWORD lpcObjectTypes)
{
  char* temp = (char*)(*lppData);
  int size = type.DefinitionLength;

  // The number of instances
  int count = Data::get_instances_count();

  // Somewhere here the size that the buffer needs could be estimated and compared with that of this one. It is left out
  // for simplicity.
  for (int i = 0; i < count; i++)
  {
    WCHAR* name = 0;
    int    name_len = 0;
    // The name and its length. Memory for the name comes from malloc.
    Data::get_name(i, &name, &name_len);
    // The length of the name is in bytes; without the zero at its end Performance does not work as it should.
    instance.NameLength = (name_len + 1) * sizeof(WCHAR);
    instance.ByteLength = instance.NameOffset + instance.NameLength;

    if (UpTo8(size + instance.ByteLength + bl.ByteLength) > *lpcbBytes)
    {
      // It does not fit in.
      free(name);
      *lpcbBytes = 0;
      *lpcObjectTypes = 0;
      return ERROR_MORE_DATA;
    }

    // The definition of the instance
    memcpy(temp + size, &instance, sizeof(instance));
    // The name of the instance
    memcpy(temp + size + instance.NameOffset, name, instance.NameLength);

    size += instance.ByteLength;

    // The structure PERF_COUNTER_BLOCK
    memcpy(temp + size, &bl, sizeof(bl));

    // The data
    DWORD data = Data::get_data(i);

    memcpy(temp + size + counter.CounterOffset, &data, sizeof(data));

    size += bl.ByteLength;

    free(name);
  }

  type.NumInstances = count;
  type.TotalByteLength = UpTo8(size);

  // The description of the type
  memcpy(temp, &type, sizeof(type));

  // The description of the counter
  memcpy(temp + type.HeaderLength, &counter, sizeof(counter));

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
