// Says that it is ready, then works until it is killed; a line of input makes it call Marked a thousand times, the line
// "fail" makes it give up.
using System;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Forever
{
    static class Program
    {
        [MethodImpl(MethodImplOptions.NoInlining)] static int Marked(int n) { return n; }
        static int Small(int n) { return n + 1; }
        [MethodImpl(MethodImplOptions.NoInlining)] static int Work(int n) { return n < 2 ? n : Work(n - 1) + Work(n - 2); }
        [MethodImpl(MethodImplOptions.NoInlining)] static void Batch() { for (int n = 0; n < 1000; n++) Marked(Small(n)); }
        static readonly ManualResetEvent Begun = new ManualResetEvent(false);
        [MethodImpl(MethodImplOptions.NoInlining)] static void Background() { Begun.Set(); while (true) { Work(12); Thread.Sleep(1); } }

        static void Main()
        {
            Thread thread = new Thread(Background) { IsBackground = true };
            thread.Start();
            // A loaded machine may take its time to start a thread.
            Begun.WaitOne();
            Console.WriteLine("ready");
            string line;
            while ((line = Console.ReadLine()) != null)
            {
                if (line == "fail") Environment.FailFast("it was asked to");
                Batch();
                Console.WriteLine("done " + line);
            }
            Thread.Sleep(Timeout.Infinite);
        }
    }
}
