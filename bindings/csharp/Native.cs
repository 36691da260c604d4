// The functions of libtallymon.so, and the structures and memory for calling them.

using System;
using System.Collections.Generic;
using System.Runtime.InteropServices;
using System.Text;

namespace Tallymon.Diagnostics
{
    internal static class Native
    {
        private const string Library = "tallymon";

        internal const uint MoreData = 234;
        internal const uint PdhMoreData = 0x800007D2;
        internal const uint PdhNoMachine = 0x800007D0;
        internal const uint PdhNoObject = 0xC0000BB8;
        internal const uint PdhAccessDenied = 0xC0000BDB;
        internal const uint FormatDouble = 0x200;
        internal const uint FormatNoScale = 0x1000;
        internal const uint FormatNoCap = 0x8000;
        internal const uint Wizard = 400;

        [DllImport(Library)]
        internal static extern uint TallymonErrorText(byte[] text, ref uint size);

        [DllImport(Library)]
        internal static extern uint TallymonPublisherStart(byte[] name, NewSet[] sets, uint count, out IntPtr publisher);

        [DllImport(Library)]
        internal static extern uint TallymonPublisherClose(IntPtr publisher);

        [DllImport(Library)]
        internal static extern uint TallymonInstanceCreate(
            IntPtr publisher, byte[] set, byte[] name, int id, IntPtr parent, out IntPtr instance);

        [DllImport(Library)]
        internal static extern uint TallymonInstanceClose(IntPtr instance);

        [DllImport(Library)]
        internal static extern uint TallymonCounterOpen(IntPtr instance, byte[] name, out IntPtr counter);

        [DllImport(Library)]
        internal static extern uint TallymonCounterClose(IntPtr counter);

        [DllImport(Library)]
        internal static extern uint TallymonAdd(IntPtr counter, long n);

        [DllImport(Library)]
        internal static extern uint TallymonGet(IntPtr counter, out long value);

        [DllImport(Library)]
        internal static extern uint TallymonSetAll(IntPtr group, long[] values, uint count);

        [DllImport(Library, CharSet = CharSet.Unicode)]
        internal static extern uint PdhOpenQueryW(string source, UIntPtr user, out UIntPtr query);

        [DllImport(Library)]
        internal static extern uint PdhCloseQuery(UIntPtr query);

        [DllImport(Library, CharSet = CharSet.Unicode)]
        internal static extern uint PdhAddCounterW(UIntPtr query, string path, UIntPtr user, out UIntPtr counter);

        [DllImport(Library)]
        internal static extern uint PdhCollectQueryData(UIntPtr query);

        [DllImport(Library)]
        internal static extern uint PdhGetRawCounterValue(UIntPtr counter, out uint type, out RawCounter value);

        [DllImport(Library)]
        internal static extern uint PdhGetCounterTimeBase(UIntPtr counter, out long timeBase);

        [DllImport(Library)]
        internal static extern uint PdhFormatFromRawValue(
            uint type, uint format, ref long timeBase, ref RawCounter newer, RawCounter[] older, out FormattedValue value);

        [DllImport(Library)]
        internal static extern uint PdhGetCounterInfoW(UIntPtr counter, byte withHelp, ref uint bytes, IntPtr buffer);

        [DllImport(Library, CharSet = CharSet.Unicode)]
        internal static extern uint PdhEnumObjectsW(
            string source, string machine, [In, Out] char[] objects, ref uint characters, uint detail, int refresh);

        [DllImport(Library, CharSet = CharSet.Unicode)]
        internal static extern uint PdhEnumObjectItemsW(
            string source, string machine, string category, [In, Out] char[] counters, ref uint countersCharacters,
            [In, Out] char[] instances, ref uint instancesCharacters, uint detail, uint flags);

        [DllImport(Library)]
        internal static extern int QueryPerformanceCounter(out long count);

        [DllImport(Library)]
        internal static extern int QueryPerformanceFrequency(out long frequency);

        /// <summary>Throws the error message of a failed publishing function.</summary>
        internal static void Check(uint error)
        {
            if (error == 0)
                return;
            uint size = 0;
            string text = "error " + error;
            if (TallymonErrorText(null, ref size) == MoreData)
            {
                var buffer = new byte[size];
                if (TallymonErrorText(buffer, ref size) == 0)
                    text = Encoding.UTF8.GetString(buffer, 0, buffer.Length - 1);
            }
            if (error == 5)
                throw new UnauthorizedAccessException(text);
            throw new InvalidOperationException(text);
        }

        /// <summary>A text in UTF-8 with its terminating zero.</summary>
        internal static byte[] Utf8(string text)
        {
            return text == null ? null : Encoding.UTF8.GetBytes(text + "\0");
        }

        /// <summary>A machine as paths and functions name it; null is this one.</summary>
        internal static string Machine(string name)
        {
            return name == "." ? null : name.StartsWith("\\\\", StringComparison.Ordinal) ? name : "\\\\" + name;
        }

        /// <summary>The texts of a list that ends with two zeros.</summary>
        internal static string[] Split(char[] list)
        {
            return new string(list).Split(new[] { '\0' }, StringSplitOptions.RemoveEmptyEntries);
        }
    }

    /// <summary>TALLYMON_NEW_SET of tallymon.h.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal struct NewSet
    {
        internal IntPtr Name;
        internal IntPtr Help;
        internal uint Flags;
        internal uint DetailLevel;
        internal uint ExpectedInstances;
        internal uint CounterCount;
        internal IntPtr Counters;
        internal uint TextCount;
        internal IntPtr Texts;
    }

    /// <summary>TALLYMON_NEW_COUNTER of tallymon.h.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal struct NewCounter
    {
        internal IntPtr Name;
        internal IntPtr Help;
        internal IntPtr Unit;
        internal uint CounterType;
        internal uint BaseType;
        internal int DefaultScale;
        internal uint DetailLevel;
        internal uint Flags;
        internal uint Group;
        internal uint MaximumLength;
        internal uint BucketBits;
        internal ulong BucketMost;
        internal ulong Percentiles12, Percentiles34, Percentiles56, Percentiles78;
        internal uint TextCount;
        internal IntPtr Texts;
    }

    /// <summary>PDH_RAW_COUNTER of pdh.h.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal struct RawCounter
    {
        internal uint Status;
        internal uint TimeLow;
        internal uint TimeHigh;
        internal long First;
        internal long Second;
        internal uint MultiCount;
    }

    /// <summary>PDH_FMT_COUNTERVALUE of pdh.h, with the double of its union.</summary>
    [StructLayout(LayoutKind.Sequential)]
    internal struct FormattedValue
    {
        internal uint Status;
        internal double Double;
    }

    /// <summary>Pins memory during a call.</summary>
    internal sealed class Pins : IDisposable
    {
        private readonly List<GCHandle> handles = new List<GCHandle>();

        internal IntPtr Pin(object array)
        {
            if (array == null)
                return IntPtr.Zero;
            var handle = GCHandle.Alloc(array, GCHandleType.Pinned);
            handles.Add(handle);
            return handle.AddrOfPinnedObject();
        }

        public void Dispose()
        {
            foreach (var handle in handles)
                handle.Free();
        }
    }
}
