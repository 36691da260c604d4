// Does what each line of its input says, and answers with one line: what the runtime itself counts.
using System;
using System.Collections.Generic;
using System.Reflection;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Attach
{
    static class Program
    {
        static object kept;
        static volatile bool spinning;
        static long spun;

        [MethodImpl(MethodImplOptions.NoInlining)] static int Heavy(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i ^ n; return sum; }
        [MethodImpl(MethodImplOptions.NoInlining)] static int Three() { return Heavy(300000); }
        [MethodImpl(MethodImplOptions.NoInlining)] static int One() { return Heavy(100000); }
        [MethodImpl(MethodImplOptions.NoInlining)] static void Spin() { while (spinning) { spun += Three(); spun += One(); } }
        [MethodImpl(MethodImplOptions.NoInlining)] static void Throw() { throw new InvalidOperationException("on purpose"); }

        static string Answer(string line)
        {
            int blank = line.IndexOf(' ');
            int n = blank < 0 ? 0 : int.Parse(line.Substring(blank + 1));
            string word = blank < 0 ? line : line.Substring(0, blank);
            if (word == "collect") { Collect(n); return "ok"; }
            if (word == "collections") return Collections(n);
            if (word == "throw") { for (int i = 0; i < n; i++) try { Throw(); } catch (InvalidOperationException) { } return "ok"; }
            if (word == "allocate") { for (int i = 0; i < n; i++) kept = new byte[1000]; return "ok"; }
            if (word == "allocated") return Allocated();
            if (word == "pause") return Pause();
            if (word == "contentions") return Contentions();
            if (word == "assemblies") return Assemblies();
            if (word == "contend") { for (int i = 0; i < n; i++) Contend(); return "ok"; }
            if (word == "meter") return Meters.Make(n);
            if (word == "order") { Meters.Order(n); return "ok"; }
            if (word == "series") { Meters.Series(n); return "ok"; }
            if (word == "commands") return Commands.Report(n);
            if (word == "spin") { spinning = true; StartSpin(); return "ok"; }
            if (word == "rest") { spinning = false; return "ok"; }
            return "unknown";
        }

        // What a trimmed runtime does not have is in methods of its own, which are compiled when they are called.
        [MethodImpl(MethodImplOptions.NoInlining)] static string Assemblies() { return AppDomain.CurrentDomain.GetAssemblies().Length.ToString(); }

        [MethodImpl(MethodImplOptions.NoInlining)] static void Collect(int n) { GC.Collect(n); }
        [MethodImpl(MethodImplOptions.NoInlining)] static string Collections(int n) { return GC.CollectionCount(n).ToString(); }
        [MethodImpl(MethodImplOptions.NoInlining)] static string Allocated() { return Asked(typeof(GC), "GetTotalAllocatedBytes", new object[] { true }); }
        [MethodImpl(MethodImplOptions.NoInlining)] static string Pause() { return Asked(typeof(GC), "GetTotalPauseDuration", null); }
        [MethodImpl(MethodImplOptions.NoInlining)] static string Contentions() { return Asked(typeof(Monitor), "get_LockContentionCount", null); }
        [MethodImpl(MethodImplOptions.NoInlining)] static void StartSpin() { new Thread(Spin) { IsBackground = true, Name = "spinner" }.Start(); }

        // Newer runtimes have answers that the compiler does not know.
        [MethodImpl(MethodImplOptions.NoInlining)]
        static string Asked(Type type, string name, object[] arguments)
        {
            MethodInfo method = type.GetMethod(name);
            if (method == null) return "none";
            object answer = method.Invoke(null, arguments);
            return answer is TimeSpan ? ((TimeSpan)answer).Ticks.ToString() : answer.ToString();
        }

        static readonly object Door = new object();
        static readonly ManualResetEvent Inside = new ManualResetEvent(false);
        static void Hold() { lock (Door) { Inside.Set(); Thread.Sleep(20); } }

        [MethodImpl(MethodImplOptions.NoInlining)]
        static void Contend()
        {
            Inside.Reset();
            Thread holder = new Thread(Hold);
            holder.Start();
            Inside.WaitOne();
            lock (Door) { }
            holder.Join();
        }

        // The compiler's class library has no meters: they are made through the names of their methods.
        static class Meters
        {
            static object placed, open, time;
            static Type counter, upDown, histogram;
            static long told;

            // What an instrument says when it is asked.
            static long Told() { return told; }
            static double Share() { return -0.25; }

            [MethodImpl(MethodImplOptions.NoInlining)]
            internal static string Make(int n)
            {
                string library = "System.Diagnostics.DiagnosticSource";
                Type meter = Type.GetType("System.Diagnostics.Metrics.Meter, " + library);
                if (meter == null) return "none";
                object shop = Activator.CreateInstance(meter, new object[] { "Shop.Orders", "1.0" });
                counter = Type.GetType("System.Diagnostics.Metrics.Counter`1, " + library).MakeGenericType(typeof(long));
                upDown = Type.GetType("System.Diagnostics.Metrics.UpDownCounter`1, " + library).MakeGenericType(typeof(long));
                histogram = Type.GetType("System.Diagnostics.Metrics.Histogram`1, " + library).MakeGenericType(typeof(double));
                placed = Call(meter, shop, "CreateCounter", typeof(long), "orders.placed", "{order}", "Orders that were placed.");
                open = Call(meter, shop, "CreateUpDownCounter", typeof(long), "orders.open", null, null);
                time = Call(meter, shop, "CreateHistogram", typeof(double), "order.time", "ms", "Time of an order");
                Call(meter, shop, "CreateObservableCounter", typeof(long), "orders.told", null, null, new Func<long>(Told));
                Call(meter, shop, "CreateObservableGauge", typeof(double), "share(%)\\*", null, null, new Func<double>(Share));
                // The name of another object.
                object other = Activator.CreateInstance(meter, new object[] { "Processor", null });
                Call(meter, other, "CreateCounter", typeof(long), "x", null, null);
                return "ok";
            }

            // Finds a method by its name and the number of its parameters, or one more that may be left out.
            static object Call(Type type, object on, string name, Type of, params object[] arguments)
            {
                bool asks = arguments[arguments.Length - 1] is Delegate;
                foreach (MethodInfo method in type.GetMethods())
                {
                    if (method.Name != name || !method.IsGenericMethodDefinition) continue;
                    ParameterInfo[] parameters = method.GetParameters();
                    object[] all = arguments;
                    if (asks)
                    {
                        // Name, what answers, unit, description.
                        if (parameters.Length != 4) continue;
                        MethodInfo made = method.MakeGenericMethod(of);
                        if (made.GetParameters()[1].ParameterType != arguments[3].GetType()) continue;
                        all = new object[] { arguments[0], arguments[3], arguments[1], arguments[2] };
                    }
                    else if (parameters.Length != 3) continue;
                    return method.MakeGenericMethod(of).Invoke(on, all);
                }
                throw new InvalidOperationException("no method " + name);
            }

            static KeyValuePair<string, object>[] Tags(params string[] words)
            {
                KeyValuePair<string, object>[] tags = new KeyValuePair<string, object>[words.Length / 2];
                for (int i = 0; i < tags.Length; i++) tags[i] = new KeyValuePair<string, object>(words[2 * i], words[2 * i + 1]);
                return tags;
            }

            static void Add(Type type, object instrument, string name, object value, KeyValuePair<string, object>[] tags)
            {
                Type[] types = new Type[] { value.GetType(), typeof(KeyValuePair<string, object>[]) };
                type.GetMethod(name, types).Invoke(instrument, new object[] { value, tags });
            }

            internal static void Order(int n)
            {
                for (int i = 0; i < n; i++)
                {
                    Add(counter, placed, "Add", 1L, Tags("region", "eu"));
                    Add(counter, placed, "Add", 2L, Tags("region", "us/(west)#1"));
                    Add(histogram, time, "Record", (double)(i % 10), Tags("region", "eu"));
                }
                Add(upDown, open, "Add", -(long)n, Tags());
                told += 7 * n;
            }

            internal static void Series(int n) { for (int i = 0; i < n; i++) Add(counter, placed, "Add", 1L, Tags("customer", i.ToString())); }
        }

        // Reports what clients of databases report; a real one would need a server.
        static class Commands
        {
            static object listener, framework;
            static MethodInfo write;

            internal class Command { public string CommandText { get; set; } }
            internal class Half { public Guid OperationId { get; set; } public Command Command { get; set; } public Exception Exception { get; set; } }
            internal class Whole { public TimeSpan Duration { get; set; } public Command Command { get; set; } public Exception Exception { get; set; } }

            [MethodImpl(MethodImplOptions.NoInlining)]
            internal static string Report(int n)
            {
                Type type = Type.GetType("System.Diagnostics.DiagnosticListener, System.Diagnostics.DiagnosticSource");
                if (listener == null)
                {
                    listener = Activator.CreateInstance(type, new object[] { "SqlClientDiagnosticListener" });
                    framework = Activator.CreateInstance(type, new object[] { "Microsoft.EntityFrameworkCore" });
                    write = type.GetMethod("Write", new Type[] { typeof(string), typeof(object) });
                }
                for (int i = 0; i < n; i++)
                {
                    Half half = new Half { OperationId = Guid.NewGuid(), Command = new Command { CommandText = "SELECT *\n FROM orders WHERE id = " + i } };
                    write.Invoke(listener, new object[] { "Microsoft.Data.SqlClient.WriteCommandBefore", half });
                    Thread.Sleep(5);
                    bool fails = i % 4 == 3;
                    if (fails) half.Exception = new InvalidOperationException("on purpose");
                    write.Invoke(listener, new object[] { "Microsoft.Data.SqlClient.WriteCommand" + (fails ? "Error" : "After"), half });
                    Whole whole = new Whole { Duration = TimeSpan.FromMilliseconds(i + 1), Command = new Command { CommandText = "DELETE FROM t WHERE n = 'x'" } };
                    write.Invoke(framework, new object[] { "Microsoft.EntityFrameworkCore.Database.Command.CommandExecuted", whole });
                }
                return "ok";
            }
        }

        static void Main()
        {
            Console.WriteLine("ready");
            string line;
            while ((line = Console.ReadLine()) != null) Console.WriteLine(Answer(line));
        }
    }
}
