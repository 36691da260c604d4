// More places in the call tree than a small profile file has room for; then a method with two callers.
using System;

static class Crowd {
    static int A(int depth) { return depth == 0 ? 1 : A(depth - 1) + B(depth - 1) + C(depth - 1) + D(depth - 1); }
    static int B(int depth) { return depth == 0 ? 1 : A(depth - 1) + B(depth - 1) + C(depth - 1) + D(depth - 1); }
    static int C(int depth) { return depth == 0 ? 1 : A(depth - 1) + B(depth - 1) + C(depth - 1) + D(depth - 1); }
    static int D(int depth) { return depth == 0 ? 1 : A(depth - 1) + B(depth - 1) + C(depth - 1) + D(depth - 1); }
    static int Leaf(int x) { return x + 1; }
    static int Once(int x) { return Leaf(x); }
    static int Often(int x) {
        for (int n = 0; n < 1000; n++) x = Leaf(x);
        return x;
    }

    static void Main() {
        Console.WriteLine(A(8).ToString());
        Console.WriteLine(Often(Once(0)).ToString());
    }
}
