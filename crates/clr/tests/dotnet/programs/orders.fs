/// What the compiler of F# compiles in `cargo xtask clr-stress`: unions, patterns, closures, sequences, a computation
/// expression, units of measure and generic code, so that all of its phases have something to do.
module Orders

open System
open System.Collections.Generic

[<Measure>] type euro

type Item = { Name: string; Price: decimal<euro>; Count: int }

type Order =
    | Empty
    | Basket of Item list
    | Gift of sender: string * Order

type Result<'a> =
    | Good of 'a
    | Bad of string

type Checked() =
    member _.Bind(value, next) = match value with Good it -> next it | Bad why -> Bad why
    member _.Return(value) = Good value

let checkedly = Checked()

let rec total order =
    match order with
    | Empty -> 0.0m<euro>
    | Basket items -> items |> List.sumBy (fun item -> item.Price * decimal item.Count)
    | Gift (_, inner) -> total inner

let rec private depth =
    function
    | Gift (_, inner) -> 1 + depth inner
    | _ -> 0

let (|Cheap|Dear|) order = if total order < 10.0m<euro> then Cheap else Dear

let parse (text: string) =
    checkedly {
        let! parts = match text.Split ';' with [| _; _; _ |] as parts -> Good parts | _ -> Bad ("three parts: " + text)
        let! price = match Decimal.TryParse parts.[1] with true, price -> Good price | _ -> Bad ("no price: " + parts.[1])
        let! count = match Int32.TryParse parts.[2] with true, count -> Good count | _ -> Bad ("no count: " + parts.[2])
        return { Name = parts.[0]; Price = price * 1.0m<euro>; Count = count }
    }

let collect lines =
    let fold (items, faults) line =
        match parse line with
        | Good item -> item :: items, faults
        | Bad why -> items, why :: faults
    let items, faults = lines |> Seq.fold fold ([], [])
    Basket (List.rev items), List.rev faults

let inline twice f = f >> f

let grouped (orders: seq<Order>) =
    let table = Dictionary<string, List<Order>>()
    for order in orders do
        let key = match order with Cheap -> "cheap" | Dear -> "dear"
        match table.TryGetValue key with
        | true, list -> list.Add order
        | _ -> table.[key] <- List [ order ]
    seq { for pair in table -> pair.Key, pair.Value.Count, pair.Value |> Seq.map depth |> Seq.max }

let primes =
    let rec sieve numbers =
        seq {
            match Seq.tryHead numbers with
            | Some first ->
                yield first
                yield! sieve (numbers |> Seq.tail |> Seq.filter (fun number -> number % first <> 0) |> Seq.cache)
            | None -> ()
        }
    sieve (Seq.init 100 ((+) 2))

type Shop(name: string) =
    let mutable orders: Order list = []
    abstract Greeting: string
    default _.Greeting = sprintf "Welcome to %s" name
    member _.Take order = orders <- order :: orders
    member _.Report() = orders |> grouped |> Seq.map (fun (kind, count, deepest) -> sprintf "%s %d %d" kind count deepest) |> String.concat "\n"

let run () =
    let shop = { new Shop("tests") with override _.Greeting = "at your service" }
    let order, faults = collect [ "apple;1.5;3"; "pear;x;1"; "plum;2;y"; "nothing" ]
    shop.Take order
    shop.Take (Gift ("somebody", order))
    async { return twice (fun number -> number * 2) (Seq.length primes + List.length faults) }
    |> Async.RunSynchronously
    |> printfn "%s: %s, %d" shop.Greeting (shop.Report())
