// Does what each line of its input says, and answers with one line: what the runtime itself counts.
using System;
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

        static void Main()
        {
            Console.WriteLine("ready");
            string line;
            while ((line = Console.ReadLine()) != null) Console.WriteLine(Answer(line));
        }
    }
}
