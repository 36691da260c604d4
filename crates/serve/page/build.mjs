// Builds the page: one HTML file with the one script and the one style sheet in it, and rules for the browser
// (Content-Security-Policy) that allow these two by their hashes, and nothing else.
//
//   npm ci && npm run build     writes dist/index.html
//   npm run check               fails when dist/index.html is not what the sources make
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { build, transform } from "esbuild";
import { minify } from "terser";

const at = (name) => new URL(name, import.meta.url).pathname;
/** The table of words as one text for each language, behind all code: that compresses better than a list for each word
    in the midst of it. */
function packed(source) {
  const found = /const TABLE = (\{[^]*?\n\}) as const;/.exec(source);
  const look = "TABLE[word][LANGS.indexOf(lang.value)]";
  const words = found && Object.entries(new Function(`return ${found[1]}`)());
  if (!words || !source.includes(look)) throw new Error("src/words.ts has no such table any longer: adapt packed");
  // Neighbours that are alike compress better.
  words.sort(([, one], [, other]) => (one[2] < other[2] ? -1 : 1));
  const columns = [words.map(([word]) => word), ...[0, 1, 2, 3].map((nth) => words.map(([, texts]) => texts[nth]))];
  if (columns.flat().some((text) => text.includes("|"))) throw new Error("a word has a |");
  const table = `function columns(){return${JSON.stringify(columns.map((texts) => texts.join("|")))}}`;
  const code = source.replace(found[0], () => 'declare function columns(): string[];\nconst COLUMNS = columns().map((texts) => texts.split("|"));').replace(look, () => "COLUMNS[LANGS.indexOf(lang.value) + 1][COLUMNS[0].indexOf(word)]");
  return { table, code };
}
const { table, code } = packed(readFileSync(at("src/words.ts"), "utf8"));
const words = {
  name: "words",
  setup: (build) => {
    build.onLoad({ filter: /src\/words\.ts$/ }, () => ({ contents: code, loader: "ts" }));
  },
};
/** Properties of charts and their parts, which neither the server nor the browser knows: they get shorter names. */
const OWN = /^(powers|looks|isChosen|isBusy|isClear|axisAt|onCursor|onPick|onZoom|onPan|onMark|onChoose|drawn|raster|decorate|rowAt|xOf|yOf|resized|frameOf|scaled|ground|pixels|trace|fine|factor|ticks|marked|stacked|together|colours|onSelect|picture|chosen|highlight|marks)$/;
const { outputFiles } = await build({
  plugins: [words],
  entryPoints: [at("src/main.tsx")],
  bundle: true, write: false, charset: "utf8", legalComments: "none", target: "es2022",
  format: "iife", outdir: at("dist"), inject: [at("src/element.ts")],
  // `tsconfig.json` has the types of preact's runtime for JSX; `h` is shorter, compressed.
  tsconfigRaw: { compilerOptions: { jsx: "react", jsxFactory: "h", jsxFragmentFactory: "Fragment" } },
});
const text = (end) => outputFiles.find((file) => file.path.endsWith(end)).text.trim();
// esbuild puts the files together; terser makes them small, compressed 4 % smaller than esbuild would: what is repeated
// as it is compresses better than what is inlined. Reading a signal is an effect: no `pure_getters`.
const small = await minify(text(".js"), {
  ecma: 2022, toplevel: true, compress: { passes: 3, unsafe_arrows: true, reduce_funcs: false, inline: 0, comparisons: false, lhs_constants: false }, format: { comments: false }, mangle: { properties: { regex: OWN } },
});
// A script ends where this stands, also within a string.
const script = `${small.code}${table}`.replaceAll("</script", "<\\/script");
const style = (await transform(text(".css"), { loader: "css", minify: true, charset: "utf8", target: "es2022" })).code.trim();
const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
// What unpacks the script in a report, where it is compressed: `src/report.rs` writes it.
const loader = readFileSync(at("src/loader.js"), "utf8").trim();
const rules = [
  "default-src 'none'", `script-src ${hash(script)} ${hash(loader)}`, `style-src ${hash(style)}`, "connect-src 'self'",
  "img-src data: blob:", "frame-src 'self'", "base-uri 'none'", "form-action 'none'",
].join("; ");
const page = readFileSync(at("src/index.html"), "utf8")
  .replace("RULES", () => rules).replace("STYLE", () => style).replace("SCRIPT", () => script);
const target = at("dist/index.html");
if (process.argv.includes("--check")) {
  if (readFileSync(target, "utf8") !== page) {
    console.error("dist/index.html is not what the sources make: run 'npm ci && npm run build' and commit it");
    process.exit(1);
  }
} else {
  writeFileSync(target, page);
}
console.log(`${page.length} bytes`);
