// What this process publishes: categories, their instances, and the numbers of their counters.

using System;
using System.Collections.Generic;
using System.Diagnostics;

namespace Tallymon.Diagnostics
{
    /// <summary>A category that this process created, published as long as the process runs.</summary>
    internal sealed class Publication
    {
        private static readonly Dictionary<string, Publication> All =
            new Dictionary<string, Publication>(StringComparer.OrdinalIgnoreCase);

        private readonly IntPtr publisher;
        private readonly string name;
        private readonly bool multi;
        private readonly Dictionary<string, Place> places = new Dictionary<string, Place>(StringComparer.OrdinalIgnoreCase);
        private readonly Dictionary<string, Dictionary<string, Number>> instances =
            new Dictionary<string, Dictionary<string, Number>>(StringComparer.OrdinalIgnoreCase);
        private readonly Dictionary<string, IntPtr> handles = new Dictionary<string, IntPtr>(StringComparer.OrdinalIgnoreCase);

        /// <summary>The position of a counter's number: alone, or first or second in a group of a counter and
        /// its base.</summary>
        private struct Place
        {
            internal PerformanceCounterType Type;
            /// <summary>The counter; this number may be its base.</summary>
            internal string Counter;
            internal bool Grouped;
            internal int Position;
        }

        private Publication(string name, string help, bool multi, IList<CounterCreationData> counters)
        {
            const uint instances = 1, shared = 1;
            this.name = name;
            this.multi = multi;
            using (var pins = new Pins())
            {
                var table = new List<NewCounter>();
                for (int i = 0; i < counters.Count; i++)
                {
                    var data = counters[i];
                    bool based = i + 1 < counters.Count && IsBase(counters[i + 1].CounterType);
                    places.Add(data.CounterName, new Place { Type = data.CounterType, Counter = data.CounterName, Grouped = based });
                    var counter = new NewCounter
                    {
                        Name = pins.Pin(Native.Utf8(data.CounterName)),
                        Help = pins.Pin(Native.Utf8(string.IsNullOrEmpty(data.CounterHelp) ? null : data.CounterHelp)),
                        CounterType = (uint)data.CounterType,
                        Flags = based ? 0 : shared,
                    };
                    if (based)
                    {
                        // Readers see no name for a base; this process writes it under the name it was
                        // declared with.
                        i++;
                        counter.BaseType = (uint)counters[i].CounterType;
                        places.Add(counters[i].CounterName, new Place
                        {
                            Type = counters[i].CounterType, Counter = data.CounterName, Grouped = true, Position = 1,
                        });
                    }
                    table.Add(counter);
                }
                var set = new NewSet
                {
                    Name = pins.Pin(Native.Utf8(name)),
                    Help = pins.Pin(Native.Utf8(string.IsNullOrEmpty(help) ? null : help)),
                    Flags = multi ? instances : 0,
                    CounterCount = (uint)table.Count,
                    Counters = pins.Pin(table.ToArray()),
                };
                using (var process = Process.GetCurrentProcess())
                    Native.Check(Native.TallymonPublisherStart(Native.Utf8(process.ProcessName), new[] { set }, 1, out publisher));
            }
        }

        /// <summary>The category if this process publishes it, else null.</summary>
        internal static Publication Find(string category)
        {
            lock (All)
            {
                Publication found;
                All.TryGetValue(category, out found);
                return found;
            }
        }

        internal static void Add(string name, string help, bool multi, IList<CounterCreationData> counters)
        {
            lock (All)
                All.Add(name, new Publication(name, help, multi, counters));
        }

        internal static bool Remove(string category)
        {
            Publication found;
            lock (All)
            {
                if (!All.TryGetValue(category, out found))
                    return false;
                All.Remove(category);
            }
            lock (found.instances)
            {
                foreach (var instance in new List<string>(found.handles.Keys))
                    found.RemoveInstance(instance);
            }
            Native.Check(Native.TallymonPublisherClose(found.publisher));
            return true;
        }

        internal bool HasInstances
        {
            get { return multi; }
        }

        internal PerformanceCounterType TypeOf(string counter)
        {
            Place place;
            if (!places.TryGetValue(counter, out place))
                throw new InvalidOperationException("The category " + name + " has no counter " + counter + ".");
            return place.Type;
        }

        /// <summary>The number of a counter in an instance, which is created if it does not exist.</summary>
        internal Number Open(string counter, string instance)
        {
            TypeOf(counter);
            var place = places[counter];
            lock (instances)
            {
                Dictionary<string, Number> numbers;
                if (!instances.TryGetValue(instance, out numbers))
                {
                    IntPtr made;
                    Native.Check(Native.TallymonInstanceCreate(
                        publisher, Native.Utf8(name), multi ? Native.Utf8(instance) : null, -1, IntPtr.Zero, out made));
                    numbers = new Dictionary<string, Number>(StringComparer.OrdinalIgnoreCase);
                    instances.Add(instance, numbers);
                    handles.Add(instance, made);
                }
                Number number;
                if (!numbers.TryGetValue(counter, out number))
                {
                    // A counter and its base are numbers of one group.
                    Group group = null;
                    foreach (var pair in numbers)
                        if (place.Grouped && places[pair.Key].Counter == place.Counter)
                            group = pair.Value.Group;
                    if (group == null)
                    {
                        IntPtr handle;
                        Native.Check(Native.TallymonCounterOpen(handles[instance], Native.Utf8(place.Counter), out handle));
                        group = new Group(handle);
                    }
                    number = new Number(group, place.Type, place.Grouped, place.Position);
                    numbers.Add(counter, number);
                }
                return number;
            }
        }

        internal void RemoveInstance(string instance)
        {
            lock (instances)
            {
                Dictionary<string, Number> numbers;
                if (!instances.TryGetValue(instance, out numbers))
                    throw new InvalidOperationException("The category " + name + " has no instance " + instance + ".");
                foreach (var number in numbers.Values)
                    number.Group.Close();
                Native.Check(Native.TallymonInstanceClose(handles[instance]));
                instances.Remove(instance);
                handles.Remove(instance);
            }
        }

        internal static bool IsBase(PerformanceCounterType type)
        {
            switch (type)
            {
                case PerformanceCounterType.SampleBase:
                case PerformanceCounterType.AverageBase:
                case PerformanceCounterType.RawBase:
                case PerformanceCounterType.CounterMultiBase:
                    return true;
                default:
                    return false;
            }
        }
    }

    /// <summary>One number, or a counter and its base, in the shared memory.</summary>
    internal sealed class Group
    {
        internal readonly long[] Totals = new long[2];
        internal readonly long[] Published = new long[2];
        private IntPtr handle;

        internal Group(IntPtr handle)
        {
            this.handle = handle;
        }

        /// <summary>The library's counter handle; zero once the instance is removed.</summary>
        internal IntPtr Handle
        {
            get { return handle; }
        }

        internal void Close()
        {
            lock (this)
            {
                if (handle != IntPtr.Zero)
                    Native.Check(Native.TallymonCounterClose(handle));
                handle = IntPtr.Zero;
            }
        }
    }

    /// <summary>The number of a counter. Any thread may write it at any time; no addition is lost.</summary>
    internal sealed class Number
    {
        internal readonly Group Group;
        private readonly PerformanceCounterType type;
        private readonly bool grouped;
        private readonly int position;

        internal Number(Group group, PerformanceCounterType type, bool grouped, int position)
        {
            Group = group;
            this.type = type;
            this.grouped = grouped;
            this.position = position;
        }

        internal bool Removed
        {
            get { return Group.Handle == IntPtr.Zero; }
        }

        internal long Add(long n)
        {
            lock (Group)
                return Set(Group.Totals[position] + n);
        }

        internal long Value
        {
            get
            {
                lock (Group)
                    return Group.Totals[position];
            }
            set
            {
                lock (Group)
                    Set(value);
            }
        }

        private long Set(long value)
        {
            Group.Totals[position] = value;
            // A removed instance is no longer visible.
            if (Group.Handle == IntPtr.Zero)
                return value;
            long published = InTicksOfTheLibrary(value);
            long before = Group.Published[position];
            Group.Published[position] = published;
            Native.Check(grouped
                ? Native.TallymonSetAll(Group.Handle, Group.Published, 2)
                : Native.TallymonAdd(Group.Handle, published - before));
            return value;
        }

        /// <summary>Programs measure times with Stopwatch, whose ticks differ from those of the performance
        /// clock here.</summary>
        private long InTicksOfTheLibrary(long value)
        {
            long now, frequency;
            Native.QueryPerformanceFrequency(out frequency);
            double ratio = (double)frequency / Stopwatch.Frequency;
            switch (type)
            {
                case PerformanceCounterType.AverageTimer32:
                case PerformanceCounterType.CounterTimer:
                case PerformanceCounterType.CounterTimerInverse:
                case PerformanceCounterType.CounterMultiTimer:
                case PerformanceCounterType.CounterMultiTimerInverse:
                    return (long)(value * ratio);
                case PerformanceCounterType.ElapsedTime:
                    if (value == 0)
                        return 0;
                    Native.QueryPerformanceCounter(out now);
                    return now - (long)((Stopwatch.GetTimestamp() - value) * ratio);
                default:
                    return value;
            }
        }
    }
}
