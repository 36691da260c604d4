// Ends in the way that its argument names, after some calls and on a thread that is in calls.
using System;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

static class Endings
{
    delegate int Callback(int n);

    [DllImport("endings")] static extern void handle_signals();
    [DllImport("endings")] static extern int handled_signals();
    [DllImport("endings")] static extern int call_in_a_fork(Callback callback, int n);

    static readonly ManualResetEvent Over = new ManualResetEvent(false);
    struct Wide8 { public long A, B, C, D, E, F, G, H; }

    [MethodImpl(MethodImplOptions.NoInlining)] static int Work(int n) { return n < 2 ? n : Work(n - 1) + Work(n - 2); }
    [MethodImpl(MethodImplOptions.NoInlining)] static int Deep(int n) { return Deep(n + 1) + n; }
    [MethodImpl(MethodImplOptions.NoInlining)] static long Wide(Wide8 wide, double c)
    {
        Wide8 own = wide;
        own.H += own.A + 1;
        return Wide(own, c + 3) + own.H + own.B + (long)c;
    }
    [MethodImpl(MethodImplOptions.NoInlining)] static void Fail() { throw new InvalidOperationException("it was asked to"); }
    [MethodImpl(MethodImplOptions.NoInlining)] static void Middle() { try { Fail(); } finally { Work(5); } }
    [MethodImpl(MethodImplOptions.NoInlining)] static void Quick() { Environment.FailFast("it was asked to"); }
    [MethodImpl(MethodImplOptions.NoInlining)] static void Leave() { Environment.Exit(3); }
    static void Busy() { while (!Over.WaitOne(0)) Work(10); }
    static void Elsewhere(ThreadStart start)
    {
        Thread thread = new Thread(start);
        thread.Start();
        thread.Join();
    }

    // Each thread must find the sum that a thread alone finds.
    static void Storm()
    {
        handle_signals();
        Console.WriteLine("ready");
        Thread[] threads = new Thread[3];
        int[] wrong = new int[3];
        for (int n = 0; n < 3; n++)
        {
            int own = n;
            threads[n] = new Thread(() => { while (!Over.WaitOne(0)) if (Work(12) != 144) wrong[own]++; });
            threads[n].Start();
        }
        Console.ReadLine();
        Over.Set();
        foreach (Thread thread in threads) thread.Join();
        Console.WriteLine("wrong " + (wrong[0] + wrong[1] + wrong[2]).ToString());
        Console.WriteLine(handled_signals() > 0 ? "signals came" : "no signal came");
    }

    // A thousand calls here, and a thousand in a process that has no other thread.
    static void Fork()
    {
        Callback callback = Work;
        for (int n = 0; n < 1000; n++) callback(1);
        Console.WriteLine(call_in_a_fork(callback, 1000).ToString());
    }

    static int Main(string[] arguments)
    {
        Console.WriteLine(Work(15).ToString());
        // A switch over that many words needs a type that a trimmed framework does not have.
        string end = arguments[0];
        if (end == "overflow") return Deep(0);
        if (end == "wide overflow") return (int)Wide(new Wide8(), 0);
        if (end == "overflow of a thread") Elsewhere(() => Deep(0));
        else if (end == "exception") Middle();
        else if (end == "exception of a thread") Elsewhere(Middle);
        else if (end == "fail fast") Quick();
        else if (end == "exit") Leave();
        else if (end == "exit of a thread") Elsewhere(Leave);
        else if (end == "result") return 4;
        else if (end == "storm") Storm();
        else if (end == "fork") Fork();
        else
        {
            new Thread(Busy) { IsBackground = true }.Start();
            Console.WriteLine("ready");
            Thread.Sleep(Timeout.Infinite);
        }
        return 0;
    }
}
