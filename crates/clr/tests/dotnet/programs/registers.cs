// Every way in which arguments and results travel in registers. A hook that changes one of them changes the output.
using System;
using System.Globalization;
using System.Runtime.CompilerServices;

struct TwoDoubles { public double A, B; }
struct TwoLongs { public long A, B; }
struct LongDouble { public long A; public double B; }
struct DoubleLong { public double A; public long B; }
struct FourLongs { public long A, B, C, D; }
struct TwoFloats { public float A, B; }

static class Registers
{
    const MethodImplOptions No = MethodImplOptions.NoInlining;

    [MethodImpl(No)] static double Eight(double a, double b, double c, double d, double e, double f, double g, double h)
    { return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h; }
    [MethodImpl(No)] static float EightFloats(float a, float b, float c, float d, float e, float f, float g, float h)
    { return a - b + c - d + e - f + g - h; }
    [MethodImpl(No)] static double Twelve(int a, double b, long c, float d, byte e, double f, short g, float h, long i, double j, int k, double l)
    { return a + b * 2 + c * 3 + d * 4 + e * 5 + f * 6 + g * 7 + h * 8 + i * 9 + j * 10 + k * 11 + l * 12; }
    [MethodImpl(No)] static long SixLongs(long a, long b, long c, long d, long e, long f)
    { return a ^ (b << 1) ^ (c << 2) ^ (d << 3) ^ (e << 4) ^ (f << 5); }
    [MethodImpl(No)] static TwoDoubles Doubles(double a, double b) { return new TwoDoubles { A = a * 2, B = b * 3 }; }
    [MethodImpl(No)] static TwoLongs Longs(long a, long b) { return new TwoLongs { A = a * 2, B = b * 3 }; }
    [MethodImpl(No)] static LongDouble Mixed(long a, double b) { return new LongDouble { A = a * 2, B = b * 3 }; }
    [MethodImpl(No)] static DoubleLong Mixed2(double a, long b) { return new DoubleLong { A = a * 2, B = b * 3 }; }
    [MethodImpl(No)] static FourLongs Big(long a) { return new FourLongs { A = a, B = a + 1, C = a + 2, D = a + 3 }; }
    [MethodImpl(No)] static TwoFloats Floats(float a, float b) { return new TwoFloats { A = a * 2, B = b * 3 }; }
    [MethodImpl(No)] static double TakeStructs(TwoDoubles a, LongDouble b, TwoLongs c, DoubleLong d, FourLongs e, TwoFloats f)
    { return a.A + a.B + b.A + b.B + c.A + c.B + d.A + d.B + e.A + e.D + f.A + f.B; }
    [MethodImpl(No)] static decimal Decimals(decimal a, decimal b) { return a * b + 1; }
    [MethodImpl(No)] static void Outs(ref int a, out double b) { a += 5; b = a * 1.5; }
    [MethodImpl(No)] static string Text(string a, object b, params int[] c) { return a + b + c.Length; }
    [MethodImpl(No)] static T Same<T>(T value) { return value; }

    static void Main()
    {
        CultureInfo culture = CultureInfo.InvariantCulture;
        double sum = 0;
        for (int n = 0; n < 2000; n++)
        {
            sum += Eight(n, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5 + n);
            sum += EightFloats(n, 1, 2, 3, 4, 5, 6, 7.5f);
            sum += Twelve(n, 1.25, 2, 3.5f, 4, 5.75, 6, 7.5f, 8, 9.125, 10, 11.0625);
            sum += SixLongs(n, 2, 3, 4, 5, 6);
            TwoDoubles a = Doubles(n, 0.5);
            LongDouble b = Mixed(n, 0.25);
            TwoLongs c = Longs(n, 7);
            DoubleLong d = Mixed2(0.125, n);
            FourLongs e = Big(n);
            TwoFloats f = Floats(n, 0.5f);
            sum += a.A + a.B + b.A + b.B + c.A + c.B + d.A + d.B + e.A + e.B + e.C + e.D + f.A + f.B;
            sum += TakeStructs(a, b, c, d, e, f);
            sum += (double)Decimals(n, 1.25m);
            int i = n;
            double o;
            Outs(ref i, out o);
            sum += i + o + Text("a", n, 1, 2, 3).Length + Same(n) + Same(0.5) + Same("xyz").Length;
        }
        Console.WriteLine(sum.ToString("R", culture));
        Console.WriteLine(1234.5.ToString(culture) + " " + Math.Sqrt(2).ToString("R", culture));
    }
}
