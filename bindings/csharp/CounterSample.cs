// Types, declarations and samples of counters, with the interface of System.Diagnostics.

using System;
using System.Collections.Generic;

namespace Tallymon.Diagnostics
{
    /// <summary>How the value of a counter is computed from its raw values.</summary>
    public enum PerformanceCounterType
    {
        NumberOfItemsHEX32 = 0x00000000,
        NumberOfItemsHEX64 = 0x00000100,
        NumberOfItems32 = 0x00010000,
        NumberOfItems64 = 0x00010100,
        CounterDelta32 = 0x00400400,
        CounterDelta64 = 0x00400500,
        SampleCounter = 0x00410400,
        CountPerTimeInterval32 = 0x00450400,
        CountPerTimeInterval64 = 0x00450500,
        RateOfCountsPerSecond32 = 0x10410400,
        RateOfCountsPerSecond64 = 0x10410500,
        RawFraction = 0x20020400,
        CounterTimer = 0x20410500,
        Timer100Ns = 0x20510500,
        SampleFraction = 0x20C20400,
        CounterTimerInverse = 0x21410500,
        Timer100NsInverse = 0x21510500,
        CounterMultiTimer = 0x22410500,
        CounterMultiTimer100Ns = 0x22510500,
        CounterMultiTimerInverse = 0x23410500,
        CounterMultiTimer100NsInverse = 0x23510500,
        AverageTimer32 = 0x30020400,
        ElapsedTime = 0x30240500,
        AverageCount64 = 0x40020500,
        SampleBase = 0x40030401,
        AverageBase = 0x40030402,
        RawBase = 0x40030403,
        CounterMultiBase = 0x42030500,
    }

    /// <summary>Whether a category has instances.</summary>
    public enum PerformanceCounterCategoryType
    {
        Unknown = -1,
        SingleInstance = 0,
        MultiInstance = 1,
    }

    /// <summary>The lifetime of an instance. Both kinds end with the process: nothing outlives it
    /// here.</summary>
    public enum PerformanceCounterInstanceLifetime
    {
        Global = 0,
        Process = 1,
    }

    /// <summary>The declaration of a counter in a new category.</summary>
    public class CounterCreationData
    {
        public CounterCreationData() : this("", "", PerformanceCounterType.NumberOfItems32)
        {
        }

        public CounterCreationData(string counterName, string counterHelp, PerformanceCounterType counterType)
        {
            CounterName = counterName;
            CounterHelp = counterHelp;
            CounterType = counterType;
        }

        public string CounterName { get; set; }

        public string CounterHelp { get; set; }

        public PerformanceCounterType CounterType { get; set; }
    }

    /// <summary>The counters of a new category; a base directly follows the counter that needs it.</summary>
    public class CounterCreationDataCollection : List<CounterCreationData>
    {
        public CounterCreationDataCollection()
        {
        }

        public CounterCreationDataCollection(IEnumerable<CounterCreationData> value) : base(value)
        {
        }
    }

    /// <summary>The raw values of a counter at one time.</summary>
    public struct CounterSample : IEquatable<CounterSample>
    {
        public static CounterSample Empty = new CounterSample(0, 0, 0, 0, 0, 0, PerformanceCounterType.NumberOfItems32);

        private readonly RawCounter raw;
        private readonly bool taken;

        public CounterSample(
            long rawValue, long baseValue, long counterFrequency, long systemFrequency, long timeStamp,
            long timeStamp100nSec, PerformanceCounterType counterType)
            : this(rawValue, baseValue, counterFrequency, systemFrequency, timeStamp, timeStamp100nSec, counterType,
                timeStamp)
        {
        }

        public CounterSample(
            long rawValue, long baseValue, long counterFrequency, long systemFrequency, long timeStamp,
            long timeStamp100nSec, PerformanceCounterType counterType, long counterTimeStamp)
            : this()
        {
            RawValue = rawValue;
            BaseValue = baseValue;
            CounterFrequency = counterFrequency;
            SystemFrequency = systemFrequency;
            TimeStamp = timeStamp;
            TimeStamp100nSec = timeStamp100nSec;
            CounterTimeStamp = counterTimeStamp;
            CounterType = counterType;
            taken = systemFrequency != 0;
            raw.First = rawValue;
            raw.Second = SecondOf(counterType, baseValue, timeStamp, timeStamp100nSec, counterTimeStamp);
            raw.MultiCount = baseValue > 0 && baseValue < uint.MaxValue ? (uint)baseValue : 1;
        }

        /// <summary>A sample from the library. The second raw value is the base for types that have one, else
        /// a clock.</summary>
        internal CounterSample(RawCounter raw, PerformanceCounterType counterType, long timeBase) : this()
        {
            this.raw = raw;
            taken = true;
            long count, frequency;
            Native.QueryPerformanceCounter(out count);
            Native.QueryPerformanceFrequency(out frequency);
            RawValue = raw.First;
            BaseValue = HasBase(counterType) ? raw.Second : 0;
            CounterFrequency = timeBase;
            SystemFrequency = frequency;
            TimeStamp = count;
            TimeStamp100nSec = ((long)raw.TimeHigh << 32) | raw.TimeLow;
            CounterTimeStamp = HasBase(counterType) ? 0 : raw.Second;
            CounterType = counterType;
        }

        public long RawValue { get; private set; }

        public long BaseValue { get; private set; }

        public long SystemFrequency { get; private set; }

        public long CounterFrequency { get; private set; }

        public long CounterTimeStamp { get; private set; }

        public long TimeStamp { get; private set; }

        public long TimeStamp100nSec { get; private set; }

        public PerformanceCounterType CounterType { get; private set; }

        /// <summary>The value of one sample; 0 for a type that needs two.</summary>
        public static float Calculate(CounterSample counterSample)
        {
            return CounterSampleCalculator.ComputeCounterValue(counterSample);
        }

        /// <summary>The value computed from two samples.</summary>
        public static float Calculate(CounterSample counterSample, CounterSample nextCounterSample)
        {
            return CounterSampleCalculator.ComputeCounterValue(counterSample, nextCounterSample);
        }

        public bool Equals(CounterSample sample)
        {
            return RawValue == sample.RawValue && BaseValue == sample.BaseValue && TimeStamp == sample.TimeStamp
                && CounterFrequency == sample.CounterFrequency && SystemFrequency == sample.SystemFrequency
                && TimeStamp100nSec == sample.TimeStamp100nSec && CounterType == sample.CounterType
                && CounterTimeStamp == sample.CounterTimeStamp;
        }

        public override bool Equals(object other)
        {
            return other is CounterSample && Equals((CounterSample)other);
        }

        public override int GetHashCode()
        {
            return RawValue.GetHashCode() ^ TimeStamp.GetHashCode();
        }

        public static bool operator ==(CounterSample a, CounterSample b)
        {
            return a.Equals(b);
        }

        public static bool operator !=(CounterSample a, CounterSample b)
        {
            return !a.Equals(b);
        }

        internal static bool HasBase(PerformanceCounterType type)
        {
            switch (type)
            {
                case PerformanceCounterType.RawFraction:
                case PerformanceCounterType.SampleFraction:
                case PerformanceCounterType.AverageTimer32:
                case PerformanceCounterType.AverageCount64:
                    return true;
                default:
                    return type == (PerformanceCounterType)0x20020500;
            }
        }

        internal float? Value(CounterSample older)
        {
            if (!taken)
                return null;
            var newer = raw;
            long timeBase = CounterFrequency;
            FormattedValue value;
            uint status = Native.PdhFormatFromRawValue(
                (uint)CounterType, Native.FormatDouble | Native.FormatNoScale | Native.FormatNoCap, ref timeBase,
                ref newer, older.taken ? new[] { older.raw } : null, out value);
            return status == 0 ? (float?)value.Double : null;
        }

        private static long SecondOf(
            PerformanceCounterType type, long baseValue, long timeStamp, long timeStamp100nSec, long counterTimeStamp)
        {
            const int timer100Ns = 0x00100000, objectTimer = 0x00200000;
            if (HasBase(type))
                return baseValue;
            if (((int)type & objectTimer) != 0)
                return counterTimeStamp;
            return ((int)type & timer100Ns) != 0 ? timeStamp100nSec : timeStamp;
        }
    }

    /// <summary>Computes values from samples.</summary>
    public static class CounterSampleCalculator
    {
        /// <summary>The value of one sample; 0 for a type that needs two.</summary>
        public static float ComputeCounterValue(CounterSample newSample)
        {
            return newSample.Value(CounterSample.Empty) ?? 0;
        }

        /// <summary>The value computed from two samples; 0 if there is none, as when nothing happened between
        /// them.</summary>
        public static float ComputeCounterValue(CounterSample oldSample, CounterSample newSample)
        {
            return newSample.Value(oldSample) ?? 0;
        }
    }
}
