// Calls methods of which it is known what they take at least: one sleeps for 20 milliseconds, a recursion of four calls
// sleeps for 10 at its end; ends with its input.
using System;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Pace
{
    static class Program
    {
        [MethodImpl(MethodImplOptions.NoInlining)] static void Nap() { Thread.Sleep(20); }
        [MethodImpl(MethodImplOptions.NoInlining)] static int Deep(int n) { if (n == 0) { Thread.Sleep(10); return 0; } return Deep(n - 1) + 1; }
        [MethodImpl(MethodImplOptions.NoInlining)] static void Fail() { throw new InvalidOperationException(); }
        [MethodImpl(MethodImplOptions.NoInlining)] static void Round() { Nap(); Deep(3); try { Fail(); } catch (InvalidOperationException) { } }
        static void Loop() { while (true) Round(); }

        static void Main()
        {
            new Thread(Loop) { IsBackground = true }.Start();
            Console.WriteLine("ready");
            while (Console.ReadLine() != null) { }
        }
    }
}
