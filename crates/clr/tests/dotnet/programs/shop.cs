// A little shop that takes orders on two threads: names, recursion, exceptions, lambdas and asynchronous steps in one
// program, for reports and time lines. The argument is the number of rounds, 0 for no end.
using System;
using System.Collections.Generic;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using System.Threading.Tasks;

namespace Shop
{
    class Item
    {
        public string Name;
        public int Price;
        public int Discounted(int percent) { return Price - Price * percent / 100; }
    }

    class Cart
    {
        readonly List<Item> items = new List<Item>();
        public void Add(Item item) { items.Add(item); }
        public int Total(int percent) { return (int)items.Sum(item => (long)item.Discounted(percent)); }
        public IEnumerable<Item> Cheap(int limit) { foreach (Item item in items) if (item.Price < limit) yield return item; }
    }

    static class Text
    {
        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Distance(string a, string b, int i, int j)
        {
            if (i == 0 || j == 0) return i + j;
            if (a[i - 1] == b[j - 1]) return Distance(a, b, i - 1, j - 1);
            return 1 + Math.Min(Distance(a, b, i - 1, j), Math.Min(Distance(a, b, i, j - 1), Distance(a, b, i - 1, j - 1)));
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public static int Parse(string number)
        {
            if (number.Length == 0 || !char.IsDigit(number[0])) throw new FormatException("no number: " + number);
            return int.Parse(number);
        }
    }

    class Orders
    {
        static readonly string[] Names = { "apple", "maple", "staple", "pear", "bread", "beard" };

        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Search(string name)
        {
            int best = 0;
            for (int n = 1; n < Names.Length; n++)
                if (Text.Distance(Names[n], name, Names[n].Length, name.Length) < Text.Distance(Names[best], name, Names[best].Length, name.Length)) best = n;
            return best;
        }

        [MethodImpl(MethodImplOptions.NoInlining)]
        public int Price(string text)
        {
            try { return Text.Parse(text); }
            catch (FormatException) { return 1; }
        }

        public async Task<int> Place(int n)
        {
            Cart cart = new Cart();
            for (int i = 0; i < 5; i++) cart.Add(new Item { Name = Names[(n + i) % Names.Length], Price = Price(i == 3 ? "x" : (n + i).ToString()) });
            await Task.Yield();
            return cart.Total(n % 20) + cart.Cheap(10).Count() + Search("mapel");
        }
    }

    static class Program
    {
        static int rounds;
        static bool endless;

        static void Serve()
        {
            Orders orders = new Orders();
            long sum = 0;
            for (int n = 0; endless || n < rounds; n++)
            {
                sum += orders.Place(n).Result;
                if (endless) Thread.Sleep(1);
            }
            lock (typeof(Program)) Console.WriteLine(sum.ToString());
        }

        static void Main(string[] args)
        {
            rounds = args.Length > 0 ? int.Parse(args[0]) : 100;
            endless = rounds == 0;
            Thread[] threads = { new Thread(Serve) { Name = "counter" }, new Thread(Serve) { Name = "web" } };
            foreach (Thread thread in threads) thread.Start();
            foreach (Thread thread in threads) thread.Join();
        }
    }
}
