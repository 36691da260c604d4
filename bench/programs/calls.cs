// Small calls, timed from inside: nanoseconds a call of a recursion and of a leaf, the best of many rounds, and the same
// with two threads (wall time by all calls).
using System;
using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Threading;

static class Calls
{
    const int Number = 22, Leaves = 60000;

    [MethodImpl(MethodImplOptions.NoInlining)] static int Fib(int n) { return n < 2 ? n : Fib(n - 1) + Fib(n - 2); }
    [MethodImpl(MethodImplOptions.NoInlining)] static int Leaf(int n) { return n & 3; }
    [MethodImpl(MethodImplOptions.NoInlining)] static int Many() { int sum = 0; for (int n = 0; n < Leaves; n++) sum += Leaf(n); return sum; }

    static double Best(Func<int> work, double calls, int rounds)
    {
        double best = double.MaxValue;
        for (int n = 0; n < rounds; n++)
        {
            Stopwatch watch = Stopwatch.StartNew();
            work();
            best = Math.Min(best, watch.Elapsed.TotalMilliseconds * 1e6 / calls);
        }
        return best;
    }

    static int Both()
    {
        Thread[] threads = new Thread[2];
        for (int n = 0; n < 2; n++) { threads[n] = new Thread(() => { for (int i = 0; i < 20; i++) Fib(Number); }); threads[n].Start(); }
        foreach (Thread thread in threads) thread.Join();
        return 0;
    }

    static void Main(string[] args)
    {
        if (args.Length > 0) { Console.WriteLine("hello"); return; }
        // Fib(n) makes 2 F(n + 1) - 1 calls.
        double calls = 2 * 28657 - 1;
        string[] values = { Best(() => Fib(Number), calls, 60).ToString("F2", CultureInfo.InvariantCulture),
            Best(Many, Leaves, 60).ToString("F2", CultureInfo.InvariantCulture),
            Best(Both, 40 * calls, 10).ToString("F2", CultureInfo.InvariantCulture) };
        Console.WriteLine(string.Join(" ", values));
    }
}
