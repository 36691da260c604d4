// Methods whose names a compiler changed, generic ones, overloads, and nested types.
using System;
using System.Collections.Generic;
using System.Runtime.CompilerServices;
using System.Threading.Tasks;

namespace Names.Inner
{
    class Outer<T>
    {
        public class Nested<U>
        {
            [MethodImpl(MethodImplOptions.NoInlining)] public string Get<V>(T t, U[] u, List<V> v) { return "" + t + u.Length + v.Count; }
        }
    }

    static class Program
    {
        [MethodImpl(MethodImplOptions.NoInlining)] static int Over(int a) { return a; }
        [MethodImpl(MethodImplOptions.NoInlining)] static int Over(string a, ref double b) { return a.Length; }
        static IEnumerable<int> Items(int n) { for (int i = 0; i < n; i++) yield return i; }
        static async Task<int> Load(int n) { await Task.Delay(n); await Task.Yield(); return n; }
        static int Property { [MethodImpl(MethodImplOptions.NoInlining)] get { return 3; } }

        static void Main()
        {
            double d = 0;
            Console.WriteLine((Over(1) + Over("ab", ref d) + Property).ToString());
            Console.WriteLine(new Outer<string>.Nested<int>().Get<double>("x", new int[2], new List<double>()));
            Console.WriteLine(new Outer<int>.Nested<string>().Get<string>(5, new string[1], new List<string>()));
            int sum = 0;
            foreach (int i in Items(3)) sum += i;
            int captured = sum;
            Func<int, int> plain = x => x + 1;
            Func<int, int> closure = x => x + captured;
            Console.WriteLine((sum + plain(1) + closure(1)).ToString());
            Console.WriteLine(Load(5).Result.ToString());
        }
    }
}
