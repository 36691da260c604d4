// Small calls, timed by the program itself: nanoseconds per call of a recursion and of a leaf, the best of many rounds. With
// "scaling": nanoseconds per call of the recursion on one thread and on two threads, alternating, as medians of rounds that are
// long enough to be steady; and the medians of the ratios of neighbouring rounds, by the wall clock and by the threads'
// processor time, as if each thread had had a processor for itself.
using System;
using System.Diagnostics;
using System.Globalization;
using System.Runtime.CompilerServices;
using System.Runtime.InteropServices;
using System.Threading;

static class Calls
{
    const int Number = 22, Leaves = 60000;
    // Fib(n) makes 2 F(n + 1) - 1 calls.
    const double Count = 2 * 28657 - 1;

    [MethodImpl(MethodImplOptions.NoInlining)] static int Fib(int n) { return n < 2 ? n : Fib(n - 1) + Fib(n - 2); }
    [MethodImpl(MethodImplOptions.NoInlining)] static int Leaf(int n) { return n & 3; }
    [MethodImpl(MethodImplOptions.NoInlining)] static int Many() { int sum = 0; for (int n = 0; n < Leaves; n++) sum += Leaf(n); return sum; }

    // What real programs do more often: a chain of methods, methods in turn, methods of interfaces with several arguments, and
    // a tree of 29,524 places, most of which are not in a cache.
    // Rounds are short: on a busy machine a long one is never undisturbed.
    const int Few = 6000;

    [MethodImpl(MethodImplOptions.NoInlining)] static int One(int n) { return Two(n) + 1; }
    [MethodImpl(MethodImplOptions.NoInlining)] static int Two(int n) { return Three(n) + 1; }
    [MethodImpl(MethodImplOptions.NoInlining)] static int Three(int n) { return Four(n) + 1; }
    [MethodImpl(MethodImplOptions.NoInlining)] static int Four(int n) { return n & 3; }
    [MethodImpl(MethodImplOptions.NoInlining)] static int Chain() { int sum = 0; for (int n = 0; n < Few; n++) sum += One(n); return sum; }

    [MethodImpl(MethodImplOptions.NoInlining)] static int First(int n) { return n ^ 1; }
    [MethodImpl(MethodImplOptions.NoInlining)] static int Second(int n) { return n ^ 2; }
    [MethodImpl(MethodImplOptions.NoInlining)] static int Third(int n) { return n ^ 3; }
    [MethodImpl(MethodImplOptions.NoInlining)] static int Turns() { int sum = 0; for (int n = 0; n < Few; n++) sum += First(n) + Second(n) + Third(n); return sum; }

    interface IShape { double Area(double scale, double shift, int corners, string name); }
    class Square : IShape { public double Area(double scale, double shift, int corners, string name) { return scale * scale + shift + name.Length; } }
    class Circle : IShape { public double Area(double scale, double shift, int corners, string name) { return scale * 3.14 + shift * corners; } }
    static readonly IShape[] Shapes = { new Square(), new Circle(), new Square(), new Square(), new Circle() };
    [MethodImpl(MethodImplOptions.NoInlining)] static int Interfaces() { double sum = 0; for (int n = 0; n < Few; n++) sum += Shapes[n % 5].Area(n, 1, 4, "x"); return (int)sum; }

    const int Depth = 9, Places = 29524;
    [MethodImpl(MethodImplOptions.NoInlining)] static int Left(int depth) { return depth == 0 ? 1 : Left(depth - 1) + Middle(depth - 1) + Right(depth - 1); }
    [MethodImpl(MethodImplOptions.NoInlining)] static int Middle(int depth) { return depth == 0 ? 2 : Left(depth - 1) + Middle(depth - 1) + Right(depth - 1); }
    [MethodImpl(MethodImplOptions.NoInlining)] static int Right(int depth) { return depth == 0 ? 3 : Left(depth - 1) + Middle(depth - 1) + Right(depth - 1); }
    static int Tree() { return Left(Depth); }

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

    [StructLayout(LayoutKind.Sequential)] struct Time { public long Seconds, Nanoseconds; }
    [DllImport("libc", EntryPoint = "clock_gettime")] static extern int Clock(int clock, out Time time);

    // Nanoseconds of wall-clock time (1), or of this thread's processor time (3).
    static double Now(int clock) { Time time; Clock(clock, out time); return time.Seconds * 1e9 + time.Nanoseconds; }

    // Calls per nanosecond of several threads in a fifth of a second, each timed by itself: by wall clock and by processor time.
    static double[] Rate(int threads)
    {
        Thread[] all = new Thread[threads];
        double[][] rates = new double[threads][];
        ManualResetEvent begin = new ManualResetEvent(false);
        for (int n = 0; n < threads; n++)
        {
            int own = n;
            all[n] = new Thread(() =>
            {
                Fib(Number);
                begin.WaitOne();
                double wall = Now(1), processor = Now(3), end;
                int rounds = 0;
                do { Fib(Number); rounds++; end = Now(1); } while (end - wall < 2e8);
                rates[own] = new[] { rounds * Count / (end - wall), rounds * Count / (Now(3) - processor) };
            });
            all[n].Start();
        }
        // Warm-up.
        Thread.Sleep(20);
        begin.Set();
        double[] sum = new double[2];
        for (int n = 0; n < threads; n++) { all[n].Join(); sum[0] += rates[n][0]; sum[1] += rates[n][1]; }
        return sum;
    }

    static double Median(double[] values) { Array.Sort(values); return values[values.Length / 2]; }

    static string Scaling()
    {
        const int Rounds = 7;
        double[] one = new double[Rounds], two = new double[Rounds], wall = new double[Rounds], processor = new double[Rounds];
        for (int n = 0; n < Rounds; n++)
        {
            double[] alone = Rate(1), both = Rate(2);
            one[n] = 1 / alone[0];
            two[n] = 1 / both[0];
            wall[n] = both[0] / alone[0];
            processor[n] = both[1] / alone[1];
        }
        return Text(Median(one)) + " " + Text(Median(two)) + " " + Text(Median(wall)) + " " + Text(Median(processor));
    }

    static string Text(double value) { return value.ToString("F3", CultureInfo.InvariantCulture); }

    static void Main(string[] args)
    {
        if (args.Length > 0 && args[0] == "shapes")
        {
            double[] best = { Best(Chain, 4.0 * Few, 200), Best(Turns, 3.0 * Few, 200), Best(Interfaces, Few, 200), Best(Tree, Places, 200) };
            Console.WriteLine(string.Join(" ", Array.ConvertAll(best, Text)));
            return;
        }
        if (args.Length > 0) { Console.WriteLine(args[0] == "scaling" ? Scaling() : "hello"); return; }
        Console.WriteLine(Text(Best(() => Fib(Number), Count, 60)) + " " + Text(Best(Many, Leaves, 60)));
    }
}
