// Calls that every compiler likes to inline: a virtual method of one class in practice, and a small static one.
using System;

namespace Counts
{
    abstract class Shape { public abstract int V(int n); }
    class Square : Shape { public override int V(int n) { return n + 3; } }

    static class Program
    {
        static int Small(int n) { return n ^ 5; }

        static int Round(Shape shape, int n)
        {
            int sum = 0;
            for (int i = 0; i < n; i++) sum += shape.V(i) + Small(i) + Small(sum);
            return sum;
        }

        static void Main()
        {
            int sum = 0;
            for (int n = 0; n < 350; n++)
            {
                sum += Round(new Square(), 1000);
                // Time for the runtime to optimise what runs often, behind the program's back.
                if (n % 50 == 49) System.Threading.Thread.Sleep(120);
            }
            Console.WriteLine(sum.ToString());
        }
    }
}
