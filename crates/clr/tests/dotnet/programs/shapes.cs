// Says that it is ready, then spends known shares of its time in known places of its call tree until its input ends: of
// twenty units, ten are under Half, six under Third, two of these in Inner, and four under Rest, three of these in Inner.
using System;
using System.Runtime.CompilerServices;
using System.Threading;

namespace Shapes
{
    static class Program
    {
        static long sum;

        [MethodImpl(MethodImplOptions.NoInlining)] static int Unit(int n) { int own = 0; for (int i = 0; i < 20000; i++) own += i ^ n; return own; }
        [MethodImpl(MethodImplOptions.NoInlining)] static void Units(int n) { for (int i = 0; i < n; i++) sum += Unit(i); }
        [MethodImpl(MethodImplOptions.NoInlining)] static void Inner(int n) { Units(n); sum++; }
        [MethodImpl(MethodImplOptions.NoInlining)] static void Half() { Units(10); sum++; }
        [MethodImpl(MethodImplOptions.NoInlining)] static void Third() { Units(4); Inner(2); sum++; }
        [MethodImpl(MethodImplOptions.NoInlining)] static void Rest() { Inner(3); Units(1); sum++; }
        [MethodImpl(MethodImplOptions.NoInlining)] static void Round() { Half(); Third(); Rest(); sum++; }
        static void Rounds() { while (true) Round(); }

        static void Main()
        {
            new Thread(Rounds) { IsBackground = true, Name = "worker" }.Start();
            Console.WriteLine("ready");
            Console.ReadLine();
        }
    }
}
