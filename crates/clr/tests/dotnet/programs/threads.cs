// Two threads that call the same methods a known number of times.
using System;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Threads
{
    static class Program
    {
        [MethodImpl(MethodImplOptions.NoInlining)] static int Leaf(int n) { return n & 3; }
        [MethodImpl(MethodImplOptions.NoInlining)] static int Fib(int n) { return n < 2 ? n : Fib(n - 1) + Fib(n - 2); }
        static int Small(int n) { return n + 1; }

        static void Work()
        {
            int sum = 0;
            for (int n = 0; n < 100000; n++) sum += Leaf(n);
            for (int n = 0; n < 50000; n++) sum += Small(n) & 1;
            sum += Fib(20);
            lock (typeof(Program)) Console.WriteLine(sum.ToString());
        }

        static void Main()
        {
            Thread a = new Thread(Work) { Name = "first worker" };
            Thread b = new Thread(Work);
            a.Start();
            b.Start();
            b.Name = "second worker";
            a.Join();
            b.Join();
        }
    }
}
