// Publishes a category with instances and one without, reads both back, and waits until its input ends.

using System;
using System.Threading;
using Tallymon.Diagnostics;
using Stopwatch = System.Diagnostics.Stopwatch;

static class Behemoths
{
    const int Threads = 4, Additions = 50000;
    static int wrong;

    static void Is<T>(T expected, T found, string what)
    {
        if (expected.Equals(found))
            return;
        Console.WriteLine("{0} is {1} instead of {2}", what, found, expected);
        wrong++;
    }

    static void Fails<E>(Action act, string what) where E : Exception
    {
        try
        {
            act();
        }
        catch (E)
        {
            return;
        }
        Console.WriteLine("{0} does not fail", what);
        wrong++;
    }

    static void Says(string part, Action act, string what)
    {
        try
        {
            act();
        }
        catch (InvalidOperationException error)
        {
            if (error.Message.Contains(part))
                return;
            Console.WriteLine("{0} says {1}", what, error.Message);
            wrong++;
            return;
        }
        Console.WriteLine("{0} does not fail", what);
        wrong++;
    }

    static CounterCreationData Data(string name, PerformanceCounterType type)
    {
        return new CounterCreationData(name, "Help of " + name, type);
    }

    static PerformanceCounter Writer(string counter, string instance)
    {
        return new PerformanceCounter("Behemoth", counter, instance, false);
    }

    static PerformanceCounter Reader(string counter)
    {
        return new PerformanceCounter("Behemoth", counter, "Ada");
    }

    /// <summary>One that answers, one that does not, and one that is not in the table.</summary>
    static void OtherMachines(string far, int categories)
    {
        Is(true, PerformanceCounterCategory.Exists("Memory", far), "a category of another machine");
        Is(false, PerformanceCounterCategory.Exists("Dragon", far), "a category that it has not");
        Is(true, PerformanceCounterCategory.CounterExists("Processes", "System", far), "a counter of it");
        Is(true, PerformanceCounterCategory.InstanceExists("_Total", "Processor", far), "an instance of it");
        var category = new PerformanceCounterCategory("Processor", far);
        Is(far, category.MachineName, "MachineName of a category");
        Is(true, category.GetInstanceNames().Length > 1, "processors of it");
        Is(far, category.GetCounters("_Total")[0].MachineName, "MachineName of its counters");
        int found = PerformanceCounterCategory.GetCategories(far).Length;
        Is(true, found >= categories, found + " categories of it, at least " + categories + " expected, enough");
        using (var memory = new PerformanceCounter("Memory", "Available Bytes", "", "\\\\" + far))
            Is(true, memory.NextValue() > 1e6f, "memory of it");
        var processor = new PerformanceCounter("Processor", "% Processor Time", "_Total") { MachineName = far };
        processor.NextValue();
        // Samba shows a sample for some time.
        Thread.Sleep(400);
        float load = processor.NextValue();
        Is(true, load >= 0 && load <= 100, "load of it");
        Fails<InvalidOperationException>(() => processor.Increment(), "writing its counters");
        Fails<InvalidOperationException>(
            () => new PerformanceCounter("Memory", "Available Bytes", "", "nobody").NextValue(), "a machine that is not there");
        Fails<ArgumentException>(() => processor.MachineName = "", "no name of a machine");
        foreach (string absent in new[] { "nobody", "away" })
        {
            Says("does not answer", () => PerformanceCounterCategory.Exists("Memory", absent), "Exists, of " + absent);
            Says(
                "does not answer", () => PerformanceCounterCategory.InstanceExists("_Total", "Processor", absent),
                "InstanceExists, of " + absent);
            Says(
                "does not answer", () => new PerformanceCounterCategory("Memory", absent).GetCounters(),
                "GetCounters, of " + absent);
        }
    }

    /// <summary>One that refuses who logs in.</summary>
    static void Locked(string locked)
    {
        Says("access is denied", () => PerformanceCounterCategory.Exists("Memory", locked), "Exists, of " + locked);
        Says(
            "access is denied", () => new PerformanceCounterCategory("Processor", locked).GetInstanceNames(),
            "GetInstanceNames, of " + locked);
        Says(
            "access is denied", () => new PerformanceCounter("Memory", "Available Bytes", "", locked).NextValue(),
            "NextValue, of " + locked);
    }

    static void Main()
    {
        var data = new CounterCreationDataCollection
        {
            Data("Weight", PerformanceCounterType.NumberOfItems64),
            Data("Steps", PerformanceCounterType.NumberOfItems64),
            Data("Meals/sec", PerformanceCounterType.RateOfCountsPerSecond64),
            Data("Avg. Meal", PerformanceCounterType.AverageCount64),
            Data("Avg. Meal base", PerformanceCounterType.AverageBase),
            Data("Avg. Nap", PerformanceCounterType.AverageTimer32),
            Data("Avg. Nap base", PerformanceCounterType.AverageBase),
            Data("% Awake", PerformanceCounterType.RawFraction),
            Data("% Awake base", PerformanceCounterType.RawBase),
            Data("Age", PerformanceCounterType.ElapsedTime),
        };
        PerformanceCounterCategory.Create(
            "Behemoth", "The behemoths that are alive.", PerformanceCounterCategoryType.MultiInstance, data);
        PerformanceCounterCategory.Create(
            "Behemoths Summary", "All of them.", PerformanceCounterCategoryType.SingleInstance, "Count", "How many.");

        var weight = Writer("Weight", "Ada");
        weight.RawValue = 9000;
        Is(8999L, weight.Decrement(), "Decrement");
        Is(8500L, weight.IncrementBy(-499), "IncrementBy");
        Is(8500L, weight.RawValue, "RawValue");
        Is(PerformanceCounterType.NumberOfItems64, weight.CounterType, "CounterType");
        Is(8500f, weight.NextValue(), "NextValue of a counter that is written");
        var steps = Writer("Steps", "Ada");
        var threads = new Thread[Threads];
        for (int i = 0; i < Threads; i++)
        {
            threads[i] = new Thread(() =>
            {
                // Each thread has a counter of its own for the same number, as programs often do.
                var own = Writer("Steps", "Ada");
                for (int n = 0; n < Additions; n++)
                    own.Increment();
            });
            threads[i].Start();
        }
        foreach (var thread in threads)
            thread.Join();
        Is((long)Threads * Additions, steps.RawValue, "additions of all threads");

        Writer("% Awake", "Ada").RawValue = 7;
        Writer("% Awake base", "Ada").RawValue = 28;
        Writer("Age", "Ada").RawValue = Stopwatch.GetTimestamp() - 100 * Stopwatch.Frequency;
        new PerformanceCounter("Behemoths Summary", "Count", false).RawValue = 2;

        PerformanceCounter meals = Writer("Meals/sec", "Ada"), rate = Reader("Meals/sec");
        PerformanceCounter meal = Writer("Avg. Meal", "Ada"), mealBase = Writer("Avg. Meal base", "Ada");
        PerformanceCounter nap = Writer("Avg. Nap", "Ada"), napBase = Writer("Avg. Nap base", "Ada");
        PerformanceCounter average = Reader("Avg. Meal"), naps = Reader("Avg. Nap");
        Is(0f, rate.NextValue(), "first value of a rate");
        average.NextValue();
        naps.NextValue();
        var before = rate.NextSample();
        for (int size = 1; size <= 99; size++)
        {
            meals.Increment();
            meal.IncrementBy(size);
            mealBase.Increment();
            nap.IncrementBy(Stopwatch.Frequency / 4);
            napBase.Increment();
        }
        Thread.Sleep(200);
        Is(50f, average.NextValue(), "average of counts");
        Is(0.25f, naps.NextValue(), "average of times in seconds");
        var after = rate.NextSample();
        Is(99L, after.RawValue - before.RawValue, "meals between two samples");
        double seconds = (double)(after.CounterTimeStamp - before.CounterTimeStamp) / after.CounterFrequency;
        double difference = CounterSample.Calculate(before, after) - 99 / seconds;
        Is(true, Math.Abs(difference) < 0.01, "rate of two samples, off by " + difference + ", right");
        Is(true, rate.NextValue() > 0, "NextValue of the rate above 0");
        Is(25f, Reader("% Awake").NextValue(), "fraction");
        Is(7L, Reader("% Awake").NextSample().RawValue, "RawValue of a fraction");
        Is(28L, Reader("% Awake").NextSample().BaseValue, "BaseValue of a fraction");
        float age = Reader("Age").NextValue();
        Is(true, age >= 100 && age < 160, "age of " + age + " right");
        Is("Help of Weight", Reader("Weight").CounterHelp, "CounterHelp");
        Is(PerformanceCounterType.RateOfCountsPerSecond64, rate.CounterType, "CounterType of a counter that is read");

        // Samples that a program has from elsewhere.
        var old = new CounterSample(100, 0, 1000, 1000, 5000, 0, PerformanceCounterType.RateOfCountsPerSecond64);
        var next = new CounterSample(300, 0, 1000, 1000, 9000, 0, PerformanceCounterType.RateOfCountsPerSecond64);
        Is(50f, CounterSampleCalculator.ComputeCounterValue(old, next), "rate of given samples");
        Is(0f, CounterSampleCalculator.ComputeCounterValue(next), "rate of one sample");
        var same = next;
        Is(true, old != next && same == next && !old.Equals("text"), "comparison");

        Is(true, PerformanceCounterCategory.Exists("Behemoth"), "Exists");
        Is(false, PerformanceCounterCategory.Exists("Dragon"), "Exists of what is not there");
        Is(true, PerformanceCounterCategory.CounterExists("weight", "Behemoth"), "CounterExists");
        Is(true, PerformanceCounterCategory.Exists("Processor"), "Exists of what the system has");
        Is(true, new PerformanceCounter("Memory", "Available Bytes").NextValue() > 1e6f, "memory");
        Is(true, PerformanceCounterCategory.GetCategories().Length > 10, "many categories");
        var bob = Writer("Weight", "Bob");
        Is(2, new PerformanceCounterCategory("Behemoth").GetInstanceNames().Length, "number of instances");
        bob.RemoveInstance();
        Is(false, PerformanceCounterCategory.InstanceExists("Bob", "Behemoth"), "InstanceExists of what was removed");
        var eve = new PerformanceCounter { CategoryName = "Behemoth", CounterName = "Weight", InstanceName = "Eve", ReadOnly = false };
        eve.InstanceLifetime = PerformanceCounterInstanceLifetime.Process;
        eve.RawValue = 1;
        eve.RemoveInstance();
        Is(1L, eve.Increment(), "instance that comes again");
        eve.RemoveInstance();

        Fails<InvalidOperationException>(() => Reader("Weight").Increment(), "writing what is only read");
        Fails<InvalidOperationException>(() => Reader("Height").NextValue(), "a counter that is not there");
        Fails<InvalidOperationException>(() => Writer("Height", "Ada"), "writing a counter that is not there");
        Fails<InvalidOperationException>(() => new PerformanceCounter("Memory", "Pages/sec", false), "writing what others publish");
        Fails<InvalidOperationException>(() => new PerformanceCounter("Behemoth", "Weight", false), "no instance");
        Fails<InvalidOperationException>(() => weight.InstanceLifetime = PerformanceCounterInstanceLifetime.Process, "lifetime in use");
        Fails<InvalidOperationException>(() => PerformanceCounterCategory.Create(
            "Behemoth", "", PerformanceCounterCategoryType.SingleInstance, "Count", ""), "creating twice");
        Fails<InvalidOperationException>(() => PerformanceCounterCategory.Delete("Memory"), "deleting what others publish");
        Fails<ArgumentNullException>(() => new PerformanceCounterCategory(null), "no name");

        string far = Environment.GetEnvironmentVariable("TALLYMON_TEST_FAR");
        if (!string.IsNullOrEmpty(far))
            OtherMachines(far, int.Parse(Environment.GetEnvironmentVariable("TALLYMON_TEST_CATEGORIES")));
        string locked = Environment.GetEnvironmentVariable("TALLYMON_TEST_LOCKED");
        if (!string.IsNullOrEmpty(locked))
            Locked(locked);
        Console.WriteLine("{0} wrong", wrong);
        Console.In.ReadToEnd();
        PerformanceCounterCategory.Delete("Behemoth");
        PerformanceCounterCategory.Delete("Behemoths Summary");
        Is(false, PerformanceCounterCategory.Exists("Behemoth"), "Exists of what was deleted");
        Fails<InvalidOperationException>(() => weight.Increment(), "writing what was deleted");
        Environment.Exit(wrong);
    }
}
