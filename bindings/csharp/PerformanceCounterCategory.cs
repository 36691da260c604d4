// Categories, with the interface of System.Diagnostics.

using System;
using System.Collections.Generic;

namespace Tallymon.Diagnostics
{
    /// <summary>A category of counters: what counter paths call an object.</summary>
    /// <remarks>
    /// Nothing is registered. This process publishes a created category from <c>Create</c> until it ends. So the process
    /// that writes a category must create it.
    /// </remarks>
    public sealed class PerformanceCounterCategory
    {
        private string categoryName, machineName = ".";

        public PerformanceCounterCategory()
        {
        }

        public PerformanceCounterCategory(string categoryName)
        {
            CategoryName = categoryName;
        }

        /// <summary>A category of another machine: an entry of the table of hosts, see docs/remote.md.</summary>
        public PerformanceCounterCategory(string categoryName, string machineName) : this(categoryName)
        {
            MachineName = machineName;
        }

        /// <summary>The machine whose category it is; "." is this one.</summary>
        public string MachineName
        {
            get { return machineName; }
            set
            {
                CheckMachine(value);
                machineName = value;
            }
        }

        public string CategoryName
        {
            get { return categoryName; }
            set
            {
                if (value == null)
                    throw new ArgumentNullException("value");
                if (value.Length == 0)
                    throw new ArgumentException("A category needs a name.", "value");
                categoryName = value;
            }
        }

        public PerformanceCounterCategoryType CategoryType
        {
            get
            {
                var publication = machineName == "." ? Publication.Find(categoryName) : null;
                if (publication == null)
                    return PerformanceCounterCategoryType.Unknown;
                return publication.HasInstances
                    ? PerformanceCounterCategoryType.MultiInstance
                    : PerformanceCounterCategoryType.SingleInstance;
            }
        }

        public static PerformanceCounterCategory Create(
            string categoryName, string categoryHelp, PerformanceCounterCategoryType categoryType, string counterName,
            string counterHelp)
        {
            var data = new CounterCreationData(counterName, counterHelp, PerformanceCounterType.NumberOfItems32);
            return Create(categoryName, categoryHelp, categoryType, new CounterCreationDataCollection(new[] { data }));
        }

        public static PerformanceCounterCategory Create(
            string categoryName, string categoryHelp, PerformanceCounterCategoryType categoryType,
            CounterCreationDataCollection counterData)
        {
            if (counterData == null)
                throw new ArgumentNullException("counterData");
            if (categoryType < PerformanceCounterCategoryType.Unknown || categoryType > PerformanceCounterCategoryType.MultiInstance)
                throw new ArgumentOutOfRangeException("categoryType");
            var category = new PerformanceCounterCategory(categoryName);
            if (Exists(categoryName))
                throw new InvalidOperationException("The category " + categoryName + " exists.");
            Publication.Add(
                categoryName, categoryHelp, categoryType == PerformanceCounterCategoryType.MultiInstance, counterData);
            return category;
        }

        /// <summary>Ends the publication of a category that this process created.</summary>
        public static void Delete(string categoryName)
        {
            if (!Publication.Remove(categoryName))
                throw new InvalidOperationException("This process has no category " + categoryName + ".");
        }

        public static bool Exists(string categoryName)
        {
            return Exists(categoryName, ".");
        }

        public static bool Exists(string categoryName, string machineName)
        {
            if (string.IsNullOrEmpty(categoryName))
                throw new ArgumentException("A category needs a name.", "categoryName");
            CheckMachine(machineName);
            string[] counters, instances;
            return machineName == "." && Publication.Find(categoryName) != null
                || Items(machineName, categoryName, out counters, out instances);
        }

        public static bool CounterExists(string counterName, string categoryName)
        {
            return CounterExists(counterName, categoryName, ".");
        }

        public static bool CounterExists(string counterName, string categoryName, string machineName)
        {
            CheckMachine(machineName);
            string[] counters, instances;
            return Items(machineName, categoryName, out counters, out instances) && Contains(counters, counterName);
        }

        public bool CounterExists(string counterName)
        {
            return CounterExists(counterName, categoryName, machineName);
        }

        public static bool InstanceExists(string instanceName, string categoryName)
        {
            return InstanceExists(instanceName, categoryName, ".");
        }

        public static bool InstanceExists(string instanceName, string categoryName, string machineName)
        {
            CheckMachine(machineName);
            string[] counters, instances;
            return Items(machineName, categoryName, out counters, out instances) && Contains(instances, instanceName);
        }

        public bool InstanceExists(string instanceName)
        {
            return InstanceExists(instanceName, categoryName, machineName);
        }

        public static PerformanceCounterCategory[] GetCategories()
        {
            return GetCategories(".");
        }

        public static PerformanceCounterCategory[] GetCategories(string machineName)
        {
            CheckMachine(machineName);
            string machine = Native.Machine(machineName);
            uint size = 0;
            uint status = Native.PdhEnumObjectsW(null, machine, null, ref size, Native.Wizard, 1);
            var names = new char[0];
            while (status == Native.PdhMoreData)
            {
                names = new char[size];
                status = Native.PdhEnumObjectsW(null, machine, names, ref size, Native.Wizard, 0);
            }
            if (status != 0)
                throw PerformanceCounter.Failure(status, "The categories of " + machineName + " cannot be read");
            return Array.ConvertAll(Native.Split(names), name => new PerformanceCounterCategory(name, machineName));
        }

        public string[] GetInstanceNames()
        {
            string[] counters, instances;
            if (!Items(machineName, categoryName, out counters, out instances))
                throw new InvalidOperationException("The category " + categoryName + " does not exist.");
            return instances;
        }

        /// <summary>The counters of a category without instances.</summary>
        public PerformanceCounter[] GetCounters()
        {
            return GetCounters("");
        }

        public PerformanceCounter[] GetCounters(string instanceName)
        {
            string[] counters, instances;
            if (!Items(machineName, categoryName, out counters, out instances))
                throw new InvalidOperationException("The category " + categoryName + " does not exist.");
            return Array.ConvertAll(
                counters, name => new PerformanceCounter(categoryName, name, instanceName, machineName));
        }

        internal static void CheckMachine(string name)
        {
            if (name == null)
                throw new ArgumentNullException("machineName");
            if (name.Trim('\\').Length == 0)
                throw new ArgumentException("A machine needs a name.", "machineName");
        }

        private static bool Contains(IEnumerable<string> names, string wanted)
        {
            foreach (var name in names)
                if (string.Equals(name, wanted, StringComparison.OrdinalIgnoreCase))
                    return true;
            return false;
        }

        /// <summary>False only if the machine answers that it has no such category.</summary>
        private static bool Items(string machineName, string category, out string[] counters, out string[] instances)
        {
            string machine = Native.Machine(machineName);
            uint nCounters = 0, nInstances = 0, size = 0;
            // As on NT, the library looks for new instances only when all objects are requested again.
            Native.PdhEnumObjectsW(null, machine, null, ref size, Native.Wizard, 1);
            char[] ofCounters = null, ofInstances = null;
            uint status = Native.PdhEnumObjectItemsW(
                null, machine, category, null, ref nCounters, null, ref nInstances, Native.Wizard, 0);
            while (status == Native.PdhMoreData)
            {
                ofCounters = new char[nCounters];
                ofInstances = new char[nInstances];
                status = Native.PdhEnumObjectItemsW(
                    null, machine, category, ofCounters, ref nCounters, ofInstances, ref nInstances, Native.Wizard, 0);
            }
            counters = Native.Split(ofCounters ?? new char[0]);
            instances = Native.Split(ofInstances ?? new char[0]);
            if (status == 0)
                return true;
            if (status == Native.PdhNoObject)
                return false;
            string where = machineName == "." ? "" : " of " + machineName;
            throw PerformanceCounter.Failure(status, "The category " + category + where + " cannot be read");
        }
    }
}
