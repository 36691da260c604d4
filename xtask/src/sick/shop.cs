// A program that is sick on purpose: `shop contention SECONDS` or `shop starvation SECONDS`.
using System;
using System.Threading;

static class Shop
{
    static readonly object Till = new object();

    static void Pay()
    {
        while (true)
        {
            lock (Till) Thread.SpinWait(20000);
            Thread.Sleep(1);
        }
    }

    static void Main(string[] arguments)
    {
        var end = DateTime.UtcNow.AddSeconds(int.Parse(arguments[1]));
        if (arguments[0] == "contention")
        {
            // Sixteen threads want the lock that one of them holds.
            for (var each = 0; each < 16; each++)
                new Thread(Pay) { IsBackground = true }.Start();
            Thread.Sleep(end - DateTime.UtcNow);
        }
        // Work items that block their threads, and come faster than the pool adds threads.
        while (DateTime.UtcNow < end)
        {
            for (var each = 0; each < 10; each++) ThreadPool.QueueUserWorkItem(_ => Thread.Sleep(2000));
            Thread.Sleep(100);
        }
    }
}
