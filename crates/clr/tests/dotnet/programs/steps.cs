// An asynchronous method that continues on other threads, with an exception that crosses it.
using System;
using System.Threading.Tasks;

namespace Steps
{
    static class Program
    {
        static async Task<int> Leaf(int n)
        {
            await Task.Delay(20).ConfigureAwait(false);
            if (n % 5 == 4) throw new InvalidOperationException("five");
            await Task.Yield();
            return n;
        }

        static async Task<int> Middle(int n)
        {
            try { return await Leaf(n).ConfigureAwait(false); }
            catch (InvalidOperationException) { return -1; }
        }

        static async Task<int> All()
        {
            int sum = 0;
            for (int n = 0; n < 20; n++) sum += await Middle(n).ConfigureAwait(false);
            return sum;
        }

        static void Main()
        {
            Console.WriteLine(All().Result.ToString());
        }
    }
}
