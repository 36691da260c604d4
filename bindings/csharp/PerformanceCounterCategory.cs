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
        private string categoryName;

        public PerformanceCounterCategory()
        {
        }

        public PerformanceCounterCategory(string categoryName)
        {
            CategoryName = categoryName;
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
                var publication = Publication.Find(categoryName);
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
            if (string.IsNullOrEmpty(categoryName))
                throw new ArgumentException("A category needs a name.", "categoryName");
            string[] counters, instances;
            return Publication.Find(categoryName) != null || Items(categoryName, out counters, out instances);
        }

        public static bool CounterExists(string counterName, string categoryName)
        {
            string[] counters, instances;
            return Items(categoryName, out counters, out instances) && Contains(counters, counterName);
        }

        public bool CounterExists(string counterName)
        {
            return CounterExists(counterName, categoryName);
        }

        public static bool InstanceExists(string instanceName, string categoryName)
        {
            string[] counters, instances;
            return Items(categoryName, out counters, out instances) && Contains(instances, instanceName);
        }

        public bool InstanceExists(string instanceName)
        {
            return InstanceExists(instanceName, categoryName);
        }

        public static PerformanceCounterCategory[] GetCategories()
        {
            uint size = 0;
            uint status = Native.PdhEnumObjectsW(null, null, null, ref size, Native.Wizard, 1);
            var names = new char[0];
            while (status == Native.PdhMoreData)
            {
                names = new char[size];
                status = Native.PdhEnumObjectsW(null, null, names, ref size, Native.Wizard, 0);
            }
            if (status != 0)
                throw PerformanceCounter.Failure(status, "The categories can not be read");
            return Array.ConvertAll(Native.Split(names), name => new PerformanceCounterCategory(name));
        }

        public string[] GetInstanceNames()
        {
            string[] counters, instances;
            if (!Items(categoryName, out counters, out instances))
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
            if (!Items(categoryName, out counters, out instances))
                throw new InvalidOperationException("The category " + categoryName + " does not exist.");
            return Array.ConvertAll(counters, name => new PerformanceCounter(categoryName, name, instanceName));
        }

        private static bool Contains(IEnumerable<string> names, string wanted)
        {
            foreach (var name in names)
                if (string.Equals(name, wanted, StringComparison.OrdinalIgnoreCase))
                    return true;
            return false;
        }

        private static bool Items(string category, out string[] counters, out string[] instances)
        {
            uint nCounters = 0, nInstances = 0, size = 0;
            // As on NT, the library looks for new instances only when all objects are requested again.
            Native.PdhEnumObjectsW(null, null, null, ref size, Native.Wizard, 1);
            char[] ofCounters = null, ofInstances = null;
            uint status = Native.PdhEnumObjectItemsW(
                null, null, category, null, ref nCounters, null, ref nInstances, Native.Wizard, 0);
            while (status == Native.PdhMoreData)
            {
                ofCounters = new char[nCounters];
                ofInstances = new char[nInstances];
                status = Native.PdhEnumObjectItemsW(
                    null, null, category, ofCounters, ref nCounters, ofInstances, ref nInstances, Native.Wizard, 0);
            }
            counters = Native.Split(ofCounters ?? new char[0]);
            instances = Native.Split(ofInstances ?? new char[0]);
            return status == 0;
        }
    }
}
