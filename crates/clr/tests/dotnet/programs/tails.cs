// Calls in tail position, which the compiler turns into jumps when it optimises.
using System;

static class Tails
{
    static bool IsEven(int n) { if (n == 0) return true; return IsOdd(n - 1); }
    static bool IsOdd(int n) { if (n == 0) return false; return IsEven(n - 1); }

    static void Main()
    {
        for (int n = 0; n < 10; n++) Console.WriteLine(IsEven(1000 + n).ToString());
    }
}
