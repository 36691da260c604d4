// A counter to read or to write, with the interface of System.Diagnostics.

using System;
using System.ComponentModel;
using System.Runtime.InteropServices;

namespace Tallymon.Diagnostics
{
    /// <summary>A counter: any program's counter for reading, or one of this process for writing.</summary>
    public sealed class PerformanceCounter : IDisposable, ISupportInitialize
    {
        private string categoryName, counterName, instanceName, machineName = ".";
        private PerformanceCounterInstanceLifetime lifetime;
        private Number number;
        private UIntPtr query, counter;
        private CounterSample older;
        private readonly object gate = new object();

        public PerformanceCounter() : this("", "", "", true)
        {
        }

        public PerformanceCounter(string categoryName, string counterName) : this(categoryName, counterName, "", true)
        {
        }

        public PerformanceCounter(string categoryName, string counterName, string instanceName)
            : this(categoryName, counterName, instanceName, true)
        {
        }

        public PerformanceCounter(string categoryName, string counterName, bool readOnly)
            : this(categoryName, counterName, "", readOnly)
        {
        }

        public PerformanceCounter(string categoryName, string counterName, string instanceName, bool readOnly)
        {
            CategoryName = categoryName;
            CounterName = counterName;
            InstanceName = instanceName;
            ReadOnly = readOnly;
            if (!readOnly && categoryName.Length > 0)
                Writer();
        }

        /// <summary>A counter of another machine: an entry of the table of hosts, see docs/remote.md.</summary>
        public PerformanceCounter(string categoryName, string counterName, string instanceName, string machineName)
            : this(categoryName, counterName, instanceName, true)
        {
            MachineName = machineName;
        }

        ~PerformanceCounter()
        {
            CloseQuery();
        }

        public string CategoryName
        {
            get { return categoryName; }
            set { Change(ref categoryName, value); }
        }

        public string CounterName
        {
            get { return counterName; }
            set { Change(ref counterName, value); }
        }

        public string InstanceName
        {
            get { return instanceName; }
            set { Change(ref instanceName, value); }
        }

        /// <summary>The machine whose counter is read; "." is this one, the only one whose counters can be
        /// written.</summary>
        public string MachineName
        {
            get { return machineName; }
            set
            {
                PerformanceCounterCategory.CheckMachine(value);
                Change(ref machineName, value);
            }
        }

        public bool ReadOnly { get; set; }

        public PerformanceCounterInstanceLifetime InstanceLifetime
        {
            get { return lifetime; }
            set
            {
                if (value < PerformanceCounterInstanceLifetime.Global || value > PerformanceCounterInstanceLifetime.Process)
                    throw new ArgumentOutOfRangeException("value");
                if (number != null || query != UIntPtr.Zero)
                    throw new InvalidOperationException("The lifetime is set before the counter is used.");
                lifetime = value;
            }
        }

        public PerformanceCounterType CounterType
        {
            get
            {
                var publication = machineName == "." ? Publication.Find(categoryName) : null;
                return publication != null && !ReadOnly ? publication.TypeOf(counterName) : NextSample().CounterType;
            }
        }

        public string CounterHelp
        {
            get
            {
                const int explainText = 96;
                lock (gate)
                {
                    Open();
                    uint bytes = 0;
                    uint status = Native.PdhGetCounterInfoW(counter, 1, ref bytes, IntPtr.Zero);
                    if (status != Native.PdhMoreData)
                        throw Failure(status, Path());
                    IntPtr buffer = Marshal.AllocHGlobal((int)bytes);
                    try
                    {
                        status = Native.PdhGetCounterInfoW(counter, 1, ref bytes, buffer);
                        if (status != 0)
                            throw Failure(status, Path());
                        return Marshal.PtrToStringUni(Marshal.ReadIntPtr(buffer, explainText)) ?? "";
                    }
                    finally
                    {
                        Marshal.FreeHGlobal(buffer);
                    }
                }
            }
        }

        /// <summary>The first raw value: the written one if this process writes the counter, else the one
        /// read now.</summary>
        public long RawValue
        {
            get { return ReadOnly ? NextSample().RawValue : Writer().Value; }
            set { Writer().Value = value; }
        }

        public long Increment()
        {
            return IncrementBy(1);
        }

        public long Decrement()
        {
            return IncrementBy(-1);
        }

        public long IncrementBy(long value)
        {
            return Writer().Add(value);
        }

        /// <summary>Removes the instance of this counter, with all of its counters.</summary>
        public void RemoveInstance()
        {
            if (ReadOnly)
                throw new InvalidOperationException("The counter is only read.");
            var publication = Published();
            if (!publication.HasInstances)
                throw new InvalidOperationException("The category " + categoryName + " has no instances.");
            publication.RemoveInstance(instanceName);
            number = null;
        }

        /// <summary>The value since the last call; 0 at first if it needs two samples, and if nothing
        /// happened.</summary>
        public float NextValue()
        {
            lock (gate)
            {
                var newer = NextSample();
                float value = CounterSample.Calculate(older, newer);
                older = newer;
                return value;
            }
        }

        public CounterSample NextSample()
        {
            lock (gate)
            {
                Open();
                uint status = Native.PdhCollectQueryData(query);
                uint type = 0;
                var raw = new RawCounter();
                if (status == 0)
                    status = Native.PdhGetRawCounterValue(counter, out type, out raw);
                if (status == 0 && raw.Status > 1)
                    status = raw.Status;
                if (status != 0)
                    throw Failure(status, Path());
                long timeBase;
                Native.PdhGetCounterTimeBase(counter, out timeBase);
                return new CounterSample(raw, (PerformanceCounterType)type, timeBase);
            }
        }

        public void BeginInit()
        {
            Close();
        }

        public void EndInit()
        {
            if (!ReadOnly)
                Writer();
        }

        public void Close()
        {
            lock (gate)
            {
                CloseQuery();
                number = null;
                older = CounterSample.Empty;
            }
        }

        public void Dispose()
        {
            Close();
            GC.SuppressFinalize(this);
        }

        /// <summary>Does nothing: counters share no resources that need closing.</summary>
        public static void CloseSharedResources()
        {
        }

        internal static Exception Failure(uint status, string what)
        {
            string why = "";
            if (status == Native.PdhNoMachine)
                why = ": the machine does not answer, or is not in the table of hosts";
            else if (status == Native.PdhAccessDenied)
                why = ": access is denied";
            return new InvalidOperationException(string.Format("{0}{1}: status 0x{2:X8}.", what, why, status));
        }

        private void Change(ref string name, string value)
        {
            if (value == null)
                throw new ArgumentNullException("value");
            Close();
            name = value;
        }

        private Publication Published()
        {
            var publication = Publication.Find(categoryName);
            if (publication == null)
                throw new InvalidOperationException(
                    "The category " + categoryName + " is not one that this process made, and can only be read.");
            return publication;
        }

        private Number Writer()
        {
            if (ReadOnly)
                throw new InvalidOperationException("The counter is only read.");
            if (machineName != ".")
                throw new InvalidOperationException("Counters of " + machineName + " can only be read.");
            var writer = number;
            if (writer != null && !writer.Removed)
                return writer;
            var publication = Published();
            if (publication.HasInstances != (instanceName.Length > 0))
                throw new InvalidOperationException(
                    "The category " + categoryName + (publication.HasInstances ? " needs an instance." : " has no instances."));
            if (lifetime == PerformanceCounterInstanceLifetime.Process && !publication.HasInstances)
                throw new InvalidOperationException("Only an instance has the lifetime of the process.");
            writer = publication.Open(counterName, instanceName);
            number = writer;
            return writer;
        }

        private string Path()
        {
            string instance = instanceName.Length > 0 ? "(" + instanceName + ")" : "";
            return (Native.Machine(machineName) ?? "") + "\\" + categoryName + instance + "\\" + counterName;
        }

        private void Open()
        {
            if (query != UIntPtr.Zero)
                return;
            if (categoryName.Length == 0 || counterName.Length == 0)
                throw new InvalidOperationException("A counter needs a category and a name.");
            uint status = Native.PdhOpenQueryW(null, UIntPtr.Zero, out query);
            if (status == 0)
                status = Native.PdhAddCounterW(query, Path(), UIntPtr.Zero, out counter);
            if (status != 0)
            {
                CloseQuery();
                throw Failure(status, Path());
            }
        }

        private void CloseQuery()
        {
            if (query != UIntPtr.Zero)
                Native.PdhCloseQuery(query);
            query = UIntPtr.Zero;
        }
    }
}
